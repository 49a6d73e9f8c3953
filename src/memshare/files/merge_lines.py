"""Merges of concepts as lines of exported files: which names are one travels, and not who said so.

A file may be anybody's: a merge counts only for names that memories of the file have, and never against what people
decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import redis

from memshare_broker.wire.forms import Label
from memshare_broker.wire.messages import Message
from memshare_concepts.aliases import Merge, needed
from memshare_concepts.decisions import Adopted, Decisions
from memshare_memory.memory import Memory

_AT_ONCE = 1_000  # Redis serves nobody else while a batch is written


class MergeLine(Message):
    """A line of an exported file: in this pool, memories that have the concept `merge` count as having `into`."""

    pool: Label
    merge: Label
    into: Label


Names = dict[str, set[str]]
"""The names of the concepts that memories have, by pool."""


def add_names(found: Names, memory: Memory) -> None:
    """Add those of a memory."""
    found.setdefault(memory.pool, set()).update(name for names in memory.concepts.values() for name in names)


def names_of(memories: Iterable[Memory]) -> Names:
    """The names that some memories have."""
    found: Names = {}
    for memory in memories:
        add_names(found, memory)
    return found


def merge_lines(client: redis.Redis, names: Names) -> list[MergeLine]:
    """The merges in force that say what these names mean."""
    return [
        MergeLine(pool=pool, merge=merge.of, into=merge.into)
        for pool, known in sorted(names.items())
        for merge in needed(Decisions(client, pool).aliases().merges(), known)
    ]


def adopt(client: redis.Redis, lines: Sequence[MergeLine], names: Names, by: str) -> dict[str, Any]:
    """Put the merges of a file in force, for the names of its memories; says what became of them, as JSON."""
    made, there, refused, asked = 0, 0, [], 0
    now = datetime.now(UTC)
    for pool, known in sorted(names.items()):
        merges = [Merge(of=one.merge, into=one.into, at=now, by=by) for one in lines if one.pool == pool]
        wanted = needed(merges, known)
        asked += len(wanted)
        for start in range(0, len(wanted), _AT_ONCE):
            adopted: Adopted = Decisions(client, pool).adopt(wanted[start : start + _AT_ONCE])
            made, there = made + len(adopted.made), there + len(adopted.there)
            refused += [{"pool": pool, "merge": one.of, "into": one.into} for one in adopted.refused]
    return {"made": made, "there": there, "refused": refused, "without_memory": len(lines) - asked}
