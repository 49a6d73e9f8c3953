"""The files that `memories export` has written, noted in Redis so that what is purged can be taken out of them."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import redis
from pydantic import ValidationError

from memshare.files.merge_lines import MergeLine, Names, add_names, gone_with
from memshare.files.new_file import new_file
from memshare_broker.wire.messages import Message
from memshare_memory.memory import Memory

M = TypeVar("M", bound=Message)

EXPORTS = "memshare:exports"  # hash: JSON of [machine, path] → when it was written, Unix time in seconds


@dataclass
class Scrubbed:
    """Files that memories were taken out of, and those of other machines, as MACHINE:PATH."""

    scrubbed: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def note_export(client: redis.Redis, file: Path) -> None:
    """Remember that memories were written to a file of this machine."""
    client.hset(EXPORTS, json.dumps([socket.gethostname(), str(file.resolve())]), time.time())


def scrub_exports(client: redis.Redis, memories: Collection[UUID]) -> Scrubbed:
    """Take memories out of every exported file that is still here; a file that is gone is noted no more."""
    done, gone = Scrubbed(), {str(one) for one in memories}
    for name in map(str, client.hkeys(EXPORTS)):
        machine, path = json.loads(name)
        if machine != socket.gethostname():
            done.elsewhere.append(f"{machine}:{path}")
        elif not Path(path).is_file():
            client.hdel(EXPORTS, name)
        elif _scrub(Path(path), gone):
            done.scrubbed.append(path)
    return done


def _scrub(file: Path, gone: set[str]) -> bool:
    """Write a file anew without the lines of these memories, and without merges of concepts that they alone had.

    False where it has none of them.
    """
    with file.open(encoding="utf-8") as lines:
        if not any(_id_of(line) in gone for line in lines):
            return False
    with file.open(encoding="utf-8") as lines:
        merges = list(_read(MergeLine, lines))
    removed: Names = {}
    left: Names = {}
    if merges:
        with file.open(encoding="utf-8") as lines:
            for memory in _read(Memory, lines):
                add_names(removed if str(memory.id) in gone else left, memory)
    told = gone_with(merges, removed, left)
    with file.open(encoding="utf-8") as lines, new_file(file) as out:
        out.writelines(
            line
            for line in lines
            if _id_of(line) not in gone and not (told and any(one in told for one in _read(MergeLine, [line])))
        )
    return True


def _read(form: type[M], lines: Iterable[str]) -> Iterator[M]:
    """The lines that have a form."""
    for line in lines:
        with suppress(ValidationError):
            yield form.model_validate_json(line)


def _id_of(line: str) -> str | None:
    """The id of the memory in a line; None where a person has changed the line into something else."""
    try:
        value = json.loads(line)
    except json.JSONDecodeError:
        return None
    return str(value.get("id") or value.get("memory_id")) if isinstance(value, dict) else None
