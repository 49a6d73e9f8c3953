"""Stale memories as people decide on them: those of one cause together, with what they were written from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple
from uuid import UUID

from memshare.client.regrading import being_graded
from memshare.client.rest.calls.needs import Need, StaleSource
from memshare.client.sent_prompt import as_it_was
from memshare.doors.backend import Backend
from memshare.doors.caller import Caller
from memshare_memory.admit.following import LEAST_FOLLOWED, shares_in_common
from memshare_memory.curate.requests import TrashRequest
from memshare_memory.door.messages import JudgedMemory
from memshare_memory.memory import Cause, Memory
from memshare_memory.stores.store import Where

READ = 200  # stale memories of a pool
MOST_FORGOTTEN = 1_000  # sources that are looked for in the trash


class _Source(NamedTuple):
    """A memory that others were written from, whether it was forgotten, and what was found right in its place."""

    memory: Memory
    is_forgotten: bool
    lost_to: tuple[UUID, ...] = ()

    def then(self, cause: Cause, at: float) -> str:
        """What it said at a time, as those were told who were under way when it changed, too."""
        said, history = as_it_was(self.memory, at).answer, self.memory.history
        is_late = cause.became == "changed" and history and said == self.memory.answer
        return history[-1].answer if is_late else said


def stale(backend: Backend, caller: Caller, pools: Sequence[str]) -> Iterator[Need]:
    """Those of some pools that are not being graded, by the first of their causes that is still to be found."""
    memories = backend.client.memories
    for pool in pools:
        found = memories.page(Where(pool=pool, status="stale"), READ).memories
        busy = being_graded(backend.client, found)
        judged = [
            one
            for one in memories.judge([each.id for each in found if each.id not in busy])
            if one.memory.status == "stale"
        ]
        sources = _sources(backend, {cause.memory for one in found for cause in one.because})
        by_source: defaultdict[UUID | None, list[JudgedMemory]] = defaultdict(list)
        for one in sorted(judged, key=lambda each: each.memory.created):
            by_source[next((each.memory for each in one.memory.because if each.memory in sources), None)].append(one)
        for source, some in by_source.items():
            if source is None:
                since = some[-1].memory.created
                yield Need(kind="stale memory", key=f"stale {pool} gone", since=since, pool=pool, memories=tuple(some))
            else:
                yield _of_source(caller, pool, sources[source], some)


def _of_source(caller: Caller, pool: str, source: _Source, some: Sequence[JudgedMemory]) -> Need:
    """The stale memories of one source: those that repeat its words first, then the oldest."""
    told_of = source.memory
    causes = (each for one in some for each in one.memory.because if each.memory == told_of.id)
    cause = max(causes, key=lambda one: one.at)
    is_told = caller.sees(told_of.pool) and (not source.is_forgotten or caller.may("curate"))
    repeats = [one.memory.id for one in some if is_told and _repeats(one.memory, source, cause)]
    return Need(
        kind="stale memory",
        key=f"stale {pool} {told_of.id}",
        since=cause.at,
        pool=pool,
        memories=tuple(sorted(some, key=lambda one: one.memory.id not in repeats)),
        source=StaleSource(
            id=told_of.id,
            became=cause.became,
            then=source.then(cause, some[-1].memory.created) if is_told else None,
            now=told_of.answer if is_told and not source.is_forgotten else None,
            right=source.lost_to,
        ),
        repeats=tuple(repeats),
    )


def _repeats(memory: Memory, source: _Source, cause: Cause) -> bool:
    [share] = shares_in_common(memory.answer, [source.then(cause, memory.created)])
    return share >= LEAST_FOLLOWED


def _sources(backend: Backend, ids: Collection[UUID]) -> dict[UUID, _Source]:
    """What stale memories were written from, as far as the pool or the trash has it."""
    memories = backend.client.memories
    found = {
        one.memory.id: _Source(one.memory, is_forgotten=False, lost_to=one.lost_to)
        for one in memories.judge(sorted(ids))
    }
    missing = tuple(sorted(ids - found.keys()))[:MOST_FORGOTTEN]
    if missing:
        trashed = memories.trash(TrashRequest(ids=missing, limit=len(missing))).forgotten
        found |= {one.memory.id: _Source(one.memory, is_forgotten=True) for one in trashed}
    return found
