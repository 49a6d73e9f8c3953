"""The ledger's Lua scripts, which lie in `lua/`: each is one atomic step in Redis."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import Any, Literal, NamedTuple

import redis
from redis.exceptions import NoScriptError

from memshare_broker.delivery.keys import TABLE

FOLDER = Path(__file__).with_name("lua")
Name = Literal["open", "send", "take", "begin", "commit", "cancel", "park", "release", "fail", "bury", "revive"]
ALONE = frozenset({"take", "release"})  # are not about one message of a journey, and do without the common steps
Argument = str | bytes | int | float


class Script(NamedTuple):
    """A script as Redis is given it, and the SHA-1 by which Redis knows it."""

    text: str
    sha: str


@functools.cache
def read_script(name: Name) -> Script:
    """A script with the table of keys before it."""
    table = "".join(f"{field}='{value}'," for field, value in TABLE.items())
    parts = [f"local key = {{{table}}}"]
    parts += [(FOLDER / f"{one}.lua").read_text("utf-8") for one in ((name,) if name in ALONE else ("common", name))]
    text = "\n".join(parts)
    return Script(text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


def run_script(client: redis.Redis, name: Name, *arguments: Argument) -> Any:
    """Run a script in one round trip. Texts of the reply are bytes: some are packed (`packed_json`)."""
    script = read_script(name)
    try:
        return client.execute_command("EVALSHA", script.sha, 0, *arguments, NEVER_DECODE=True)  # type: ignore[no-untyped-call]
    except NoScriptError:  # a Redis that was started a moment ago
        return client.execute_command("EVAL", script.text, 0, *arguments, NEVER_DECODE=True)  # type: ignore[no-untyped-call]
