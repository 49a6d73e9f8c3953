"""Lua scripts for Redis: each is one atomic step, whose keys and arguments have names.

The comment that a script's file begins with declares them:

    -- keys: state, calls
    -- arguments: rank: number, kind, is_last: flag, words: list

The script has each as a local of that name, a text where no type is given. Callers pass all of them by keyword.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import redis
from redis.client import NEVER_DECODE
from redis.exceptions import NoScriptError

_DECLARED = re.compile(r"^-- (keys|arguments): (.+(?:(?<=,)\n--.+)*)$", re.M)
_COMMENT = re.compile(r"--.*")
_READ = {"text": "{}", "number": "tonumber({})", "flag": "({} == '1')"}
_READ_LISTS = """do
  local at = {first}
  for _, list in ipairs({{{names}}}) do
    for item = 1, tonumber(ARGV[at]) do list[item] = ARGV[at + item] end
    at = at + 1 + #list
  end
end"""


class _Source(NamedTuple):
    """A script as Redis is given it, and its names in the order in which they are sent, the arguments with types."""

    text: str
    sha: str
    keys: list[str]
    arguments: dict[str, str]
    names: set[str]


class Script:
    """The script NAME.lua `beside` a module, read when it is first asked for.

    `before` are files with what it shares with others, and their arguments; `constants` are locals of it, too. Texts of
    a reply that is `raw` are bytes.
    """

    def __init__(self, beside: str, name: str, *before: Path, raw: bool = False, **constants: object) -> None:
        self.files = (*before, Path(beside).with_name(f"{name}.lua"))
        self._options = {NEVER_DECODE: True} if raw else {}
        self._constants = constants

    @cached_property
    def source(self) -> _Source:
        """Raises `ValueError` where the files do not use what they declare, or take anything by its position."""
        body = "\n".join(file.read_text("utf-8") for file in self.files)
        keys, types = dict[str, str](), dict[str, str]()
        for where, declared in _DECLARED.findall(body):
            for name, kind in re.findall(r"(\w+)(?:: (\w+))?", declared):
                if name in (*keys, *types) or kind not in ("", "list", *_READ):
                    raise ValueError(f"{self.files[-1]}: {name!r} is declared twice, or no {kind!r} is known.")
                (keys if where == "keys" else types)[name] = kind or "text"
        used = set(re.findall(r"\w+", _COMMENT.sub("", body)))
        if (unused := {*keys, *types, *self._constants} - used) or used & {"KEYS", "ARGV"}:
            raise ValueError(f"{self.files[-1]}: {sorted(unused)} are not used, or KEYS or ARGV are.")
        arguments = dict(sorted(types.items(), key=lambda argument: argument[1] == "list"))
        text = "\n".join((*_locals(list(keys), arguments, self._constants), body))
        sha = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
        return _Source(text, sha, list(keys), arguments, keys.keys() | types.keys())

    def __call__(self, client: redis.Redis, /, **given: Any) -> Any:
        """Run it in one round trip. Raises `TypeError` where the keywords are not what it declares."""
        text, sha, keys, arguments, names = self.source
        if given.keys() != names:
            raise TypeError(f"{self.files[-1]} takes {sorted(names)}, and was given {sorted(given)}.")
        sent = [given[name] for name in keys]
        for name, kind in arguments.items():
            value = given[name]
            if kind == "list":
                sent += [len(value), *value]
            else:
                sent.append(int(value) if kind == "flag" else value)
        try:
            return client.execute_command("EVALSHA", sha, len(keys), *sent, **self._options)  # type: ignore[no-untyped-call]
        except NoScriptError:  # a Redis that was started a moment ago
            return client.execute_command("EVAL", text, len(keys), *sent, **self._options)  # type: ignore[no-untyped-call]


def _locals(keys: list[str], arguments: dict[str, str], constants: Mapping[str, object]) -> list[str]:
    """The lines that give a script its names: lists come last, each after its length."""
    plain = [(name, kind) for name, kind in arguments.items() if kind != "list"]
    lists = list(arguments)[len(plain) :]
    lines = [f"local {name} = {_literal(value)}" for name, value in constants.items()]
    lines += [f"local {name} = KEYS[{at}]" for at, name in enumerate(keys, 1)]
    lines += [f"local {name} = {_READ[kind].format(f'ARGV[{at}]')}" for at, (name, kind) in enumerate(plain, 1)]
    lines += [f"local {name} = {{}}" for name in lists]
    return lines + ([_READ_LISTS.format(first=len(plain) + 1, names=", ".join(lists))] if lists else [])


def _literal(value: object) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name} = {_literal(part)}' for name, part in value.items())}}}"
    return repr(value)
