"""What needs a person, in one list."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Annotated

from fastapi import Query

from memshare.client.contradictions import contradictions
from memshare.client.rest.calls.dead_letters import DeadLetterReply
from memshare.client.rest.calls.needs import Need, NeedsCalls, NeedsReply
from memshare.doors.authentication import BackendNow, CallerNow
from memshare.doors.backend import Backend
from memshare.doors.caller import Caller, Right
from memshare.doors.calls.concepts import undecided
from memshare.doors.calls.dead_letters import dead_letters
from memshare.doors.calls.duplicates import left_of
from memshare.doors.calls.listings import rubrics
from memshare.doors.calls.questions import questions
from memshare.doors.calls.stale import stale
from memshare.doors.calls.submitters import submitters_of
from memshare.doors.serving import serves
from memshare_broker.errors import MemshareError, Unreachable
from memshare_concepts.decisions import similar_id

MOST = 500
ENOUGH_WORDS = 10
"""Words on a submitter's memories, of which eight prove one who is as good as the pool's mean."""
MOST_NAMES = 20
"""Of a pool, the most alike: where these are decided, the next ones come."""


@dataclass(frozen=True)
class Look:
    """One look at what needs somebody: where, and for whom."""

    backend: Backend
    caller: Caller

    @cached_property
    def pools(self) -> list[str]:
        """The caller's pools, for which the memory service is asked once."""
        return sorted(filter(self.caller.sees, self.backend.client.memories.stats().by_pool))


@serves(NeedsCalls.list)
def needs(backend: BackendNow, caller: CallerNow, limit: Annotated[int, Query(ge=1, le=MOST)] = 100) -> NeedsReply:
    """What the caller may see of it, the oldest first, as far as it can be read now."""
    found: list[Need] = []
    missing: dict[str, None] = {}
    look = Look(backend, caller)
    for right, read in SOURCES:
        if caller.may(right):
            try:
                found += read(look)
            except Unreachable:
                raise
            except MemshareError as error:
                missing[str(error)] = None
    found.sort(key=lambda one: (one.since is None, one.since or 0.0, one.key))
    return NeedsReply(total=len(found), needs=tuple(found[:limit]), missing=tuple(missing))


def _conflicts(look: Look) -> Iterator[Need]:
    for one in contradictions(look.backend.client.memories, look.pools):
        # One that lost to another memory is not shown, whatever is said of these two.
        if not one.confirmed and not any(each.lost_to for each in one.memories):
            first, second = (each.memory for each in one.memories)
            yield Need(
                kind="conflict",
                key=f"conflict {first.id} {second.id}",
                since=max(first.created, second.created),
                pool=first.pool,
                memories=one.memories,
                claims=one.claims,
            )


def _submitters(look: Look) -> Iterator[Need]:
    for pool, of in submitters_of(look.backend, look.pools).items() if look.backend.settings.learn else ():
        for one in of:
            if not one.proven and one.said is None and one.words >= ENOUGH_WORDS:
                yield Need(kind="submitter", key=f"submitter {pool} {one.name}", since=None, pool=pool, submitter=one)


def _names(look: Look) -> Iterator[Need]:
    for pool in filter(look.caller.sees, sorted(look.backend.concepts)):
        for one in islice(undecided(look.backend, pool).similar, MOST_NAMES):
            key = f"names {pool} {similar_id(one.keep, one.other)}"
            yield Need(kind="names", key=key, since=None, pool=pool, names=one)


def _duplicates(look: Look) -> Iterator[Need]:
    for pool in filter(look.caller.sees, sorted(look.backend.duplicates)):
        for one in left_of(look.backend, pool):
            ids = " ".join(str(each.memory.id) for each in one.memories)
            yield Need(
                kind="duplicate", key=f"duplicate {ids}", since=None, pool=pool, memories=one.memories,
                cosine=one.cosine,
            )  # fmt: skip


def _letters(look: Look) -> Iterator[Need]:
    of_one_reason: defaultdict[tuple[str | None, str, str, bool], list[DeadLetterReply]] = defaultdict(list)
    for one in dead_letters(look.backend, look.caller):
        of_one_reason[one.pool, one.task, one.reason, one.retriable].append(one)
    for first, *alike in of_one_reason.values():
        key = f"letter {first.id}"
        yield Need(kind="dead letter", key=key, since=first.died, pool=first.pool, letter=first, alike=tuple(alike))


def _rubrics(look: Look) -> Iterator[Need]:
    for one in rubrics(look.backend, look.caller):
        if not one.approved:
            yield Need(kind="rubric", key=f"rubric {one.name}", since=None, pool=None, rubric=one)


SOURCES: tuple[tuple[Right, Callable[[Look], Iterator[Need]]], ...] = (
    ("recall", _conflicts),
    ("recall", lambda look: stale(look.backend, look.caller, look.pools)),
    ("recall", _submitters),
    ("recall", lambda look: questions(look.backend, look.pools)),
    ("recall", _names),
    ("recall", _duplicates),
    ("admin", _letters),
    ("admin", _rubrics),
)
"""What needs somebody, and the right to be told of it."""
