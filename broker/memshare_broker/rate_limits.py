"""The value of `MEMSHARE_RATE_LIMITS`: how many requests and tokens a minute each chat model takes."""

from __future__ import annotations

import re
from typing import NamedTuple

EXPECTED = (
    "expected MODEL=N requests, N tokens; … (a minute; * in MODEL matches anything), "
    "such as openai:gpt-5.6-luna=500 requests, 200000 tokens; mistral:*=60 requests"
)

_AMOUNT = re.compile(r"([0-9][0-9_]*)\s*(requests|tokens)")


class RateLimit(NamedTuple):
    """The most requests and tokens of a model in a minute; None is no limit."""

    requests: int | None = None
    tokens: int | None = None


def parse_rate_limits(text: str) -> dict[str, RateLimit]:
    """The limits by model or pattern, in their order; raises `ValueError` that says what was expected."""
    limits: dict[str, RateLimit] = {}
    for part in filter(None, map(str.strip, text.split(";"))):
        name, _, amounts = map(str.strip, part.rpartition("="))
        if not name or name in limits:
            raise ValueError(f"{part!r} names {'a model a second time' if name else 'no model'}: {EXPECTED}")
        limits[name] = _rate_limit(part, amounts)
    return limits


def rate_limit_for(model: str, limits: dict[str, RateLimit]) -> RateLimit | None:
    """The limit of a model: the one under its own name, else of the first pattern that matches."""
    if model in limits:
        return limits[model]
    return next((limit for pattern, limit in limits.items() if _matches(pattern, model)), None)


def _rate_limit(part: str, amounts: str) -> RateLimit:
    found: dict[str, int] = {}
    for amount in amounts.split(","):
        read = _AMOUNT.fullmatch(amount.strip())
        if read is None or int(read[1]) < 1 or read[2] in found:
            raise ValueError(f"{part!r} gives no number of requests or tokens: {EXPECTED}")
        found[read[2]] = int(read[1])
    return RateLimit(**found)


def _matches(pattern: str, model: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), model) is not None
