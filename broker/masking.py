"""What of a value is shown in logs and in Flower: its beginning, without secrets."""

from __future__ import annotations

import re

from broker.app import REPR_LENGTH

LEFT_OUT = frozenset({"embedding", "candidates"})  # long, and nothing to read

_SECRETS = (
    re.compile(r"\b(?:sk|pk|hf|gh[pousr]|glpat|xox[abprs])[-_][\w-]{8,}"),
    re.compile(r"\bAKIA[0-9A-Z]{12,}"),
    re.compile(r"\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]+)?"),
    re.compile(r"(?<=://)[^/\s@]+(?=@)"),
    re.compile(r"(?i)(?<=\bbearer )\s*[\w.~+/=-]{6,}"),
    re.compile(
        r"(?i)\b(?P<name>[\w-]*(?:password|passwd|secret|api[_-]?key|access[_-]?key|token))"
        r"(?P<is>[\"']?\s*[:=]\s*[\"']?)(?P<value>[^\s\"',;&}]+)"
    ),
)


def masked(text: str) -> str:
    """A text with … in place of what looks like an API key, a token or a password."""
    for pattern in _SECRETS:
        text = pattern.sub(_named if pattern.groupindex else "…", text)
    return text


def shortened(value: object) -> str:
    """The first `REPR_LENGTH` characters of a value as Python writes it, masked, and without its vectors."""
    return cut(repr(_readable(value)))


def cut(text: str) -> str:
    """The first `REPR_LENGTH` characters of a text, masked before it is cut: half a key is a secret too."""
    text = masked(text)
    return text if len(text) <= REPR_LENGTH else text[: REPR_LENGTH - 1] + "…"


def _named(match: re.Match[str]) -> str:
    return f"{match['name']}{match['is']}…"


def _readable(value: object) -> object:
    if isinstance(value, dict):
        return {name: _readable(one) for name, one in value.items() if name not in LEFT_OUT}
    return [_readable(one) for one in value] if isinstance(value, list | tuple) else value
