"""What needs a person: conflicts, stale memories, dead letters and rubrics, in one list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from fastapi import Query

from memshare.client.rest.calls.needs import Need, NeedsCalls, NeedsReply
from memshare.doors.authentication import BackendNow, CallerNow
from memshare.doors.backend import Backend
from memshare.doors.caller import Caller
from memshare.doors.calls.conflicts import conflicts
from memshare.doors.calls.dead_letters import dead_letters
from memshare.doors.calls.listings import rubrics
from memshare.doors.serving import serves
from memshare_memory.stores.store import Where

MOST = 500
STALE_READ = 200  # memories of a pool


@serves(NeedsCalls.list)
def needs(backend: BackendNow, caller: CallerNow, limit: Annotated[int, Query(ge=1, le=MOST)] = 100) -> NeedsReply:
    """What the caller may see of it, the oldest first."""
    found: list[Need] = []
    if caller.may("recall"):
        found += _conflicts(backend, caller)
        found += _stale(backend, caller)
    if caller.may("admin"):
        found += _letters(backend, caller)
        found += _rubrics(backend, caller)
    found.sort(key=lambda one: (one.since is None, one.since or 0.0, one.key))
    return NeedsReply(total=len(found), needs=tuple(found[:limit]))


def _conflicts(backend: Backend, caller: Caller) -> Iterator[Need]:
    for one in conflicts(backend, caller):
        if not one.confirmed:
            first, second = (each.memory for each in one.memories)
            yield Need(
                kind="conflict",
                key=f"conflict {first.id} {second.id}",
                since=max(first.created, second.created),
                pool=first.pool,
                memories=one.memories,
                claims=one.claims,
            )


def _stale(backend: Backend, caller: Caller) -> Iterator[Need]:
    memories = backend.client.memories
    for pool in filter(caller.sees, sorted(memories.stats().by_pool)):
        page = memories.page(Where(pool=pool, status="stale"), STALE_READ)
        for one in memories.judge([memory.id for memory in page.memories]):
            yield Need(
                kind="stale memory", key=f"stale {one.memory.id}", since=one.memory.created, pool=pool, memories=(one,)
            )


def _letters(backend: Backend, caller: Caller) -> Iterator[Need]:
    for one in dead_letters(backend, caller):
        yield Need(kind="dead letter", key=f"letter {one.id}", since=one.died, pool=one.pool, letter=one)


def _rubrics(backend: Backend, caller: Caller) -> Iterator[Need]:
    for one in rubrics(backend, caller):
        if not one.approved:
            yield Need(kind="rubric", key=f"rubric {one.name}", since=None, pool=None, rubric=one)
