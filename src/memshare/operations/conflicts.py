"""Conflicts: memories that contradict each other, a person's decision on them, and all views on a question."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import fmean
from uuid import UUID

from memshare.client.errors import NotFound
from memshare.client.pools import contradictions
from memshare.client.rest.calls.decisions import ConflictCalls, Contradiction, View, ViewsReply
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, audit
from memshare.operations.memories import get
from memshare.operations.serving import serves
from memshare_broker.errors import BadInput
from memshare_broker.wire.forms import Label, Written
from memshare_memory.belief.lift import memory_lift
from memshare_memory.contradictions.conflicts import same_question
from memshare_memory.curate.requests import ConflictDecision
from memshare_memory.door.messages import JudgedMemory, SearchRequest
from memshare_memory.memory import folded
from memshare_memory.stores.store import Where

LOOKED_AT = 100  # memories, the nearest to a question


@serves(ConflictCalls.list)
def conflicts(backend: Backend, caller: Caller, pool: Label | None = None) -> list[Contradiction]:
    """Every two memories of the caller's pools that contradict each other, pool by pool."""
    caller.require("recall")
    memories = backend.client.memories
    if pool is not None:
        caller.require_pool(pool)
        return contradictions(memories, [pool])
    return contradictions(memories, filter(caller.sees, sorted(memories.stats().by_pool)))


@serves(ConflictCalls.decide)
def decide(backend: Backend, caller: Caller, form: ConflictDecision) -> ConflictDecision:
    """Note what a person says of two memories of the caller's."""
    caller.require("curate")
    seen = {one.memory.id for one in backend.client.memories.judge(form.memories) if caller.sees(one.memory.pool)}
    for one in form.memories:
        if one not in seen:
            raise NotFound(f"No memory has the id {str(one)!r}.")
    backend.client.memories.decide(form)
    audit(
        caller,
        "decide",
        memories=[str(one) for one in form.memories],
        contradict=form.contradict,
        right=form.right and str(form.right),
        undecided=form.undecided,
    )
    return form


@serves(ConflictCalls.views, "ViewsForm")
def views(
    backend: Backend,
    caller: Caller,
    memory: UUID | None = None,
    pool: Label | None = None,
    question: Written | None = None,
) -> ViewsReply:
    """The views on a question of a pool, or on that of a memory; raises `NotFound`."""
    caller.require("recall")
    ids: set[UUID] = set()
    if memory is not None:
        of = get(backend, caller, memory).memory
        pool, question, ids = of.pool, of.key, {memory}
    if pool is None or question is None:
        raise BadInput("Say whose views are wanted: those on a 'question' to a 'pool', or on that of a 'memory'.")
    caller.require_pool(pool)
    backend.checked_text(question, "question")
    asked = SearchRequest(text=question, k=LOOKED_AT, where=Where(pool=pool), asked_by=caller.name)
    near = backend.client.memories.search(asked)
    ids |= {one.memory.id for one in near if one.similarity >= same_question(one.memory)}
    by_answer: defaultdict[str, list[JudgedMemory]] = defaultdict(list)
    for one in _with_rivals(backend, ids):
        by_answer[folded(one.memory.answer).rstrip(".")].append(one)
    groups = [sorted(some, key=_place) for some in by_answer.values()]
    groups.sort(key=lambda some: ((True, None, False).index(_right(some)), _place(some[0])))
    place = {one.memory.id: number for number, some in enumerate(groups) for one in some}
    return ViewsReply(pool=pool, question=question, views=tuple(_view(backend, some, place) for some in groups))


def _with_rivals(backend: Backend, ids: set[UUID]) -> list[JudgedMemory]:
    """Memories with those that contradict them, those that contradict these, and so on."""
    found: dict[UUID, JudgedMemory] = {}
    seen: set[UUID] = set()
    while ids:
        new = backend.client.memories.judge(sorted(ids))
        found |= {one.memory.id: one for one in new}
        seen |= ids
        ids = {rival for one in new for rival in one.conflicts} - seen
    return list(found.values())


def _place(one: JudgedMemory) -> tuple[bool, float, int, float]:
    """The place among others, as a key that sorts."""
    return one.memory.status != "active", -one.credibility.p, -one.credibility.credits, one.memory.created


def _right(some: Sequence[JudgedMemory]) -> bool | None:
    """A person's decision on memories that say the same; None where nobody decided, or both was said."""
    won, lost = any(one.won_over for one in some), any(one.lost_to for one in some)
    return None if won == lost else won


def _view(backend: Backend, some: Sequence[JudgedMemory], place: dict[UUID, int]) -> View:
    """The view of memories whose answers say the same."""
    memories, best = [one.memory for one in some], some[0]
    scores = [one.score for one in memories if one.score is not None]
    with backend.reaching():
        lifts = [memory_lift(backend.redis, one.pool, one.id) for one in memories]
    return View(
        answer=best.memory.answer,
        memories=tuple(one.id for one in memories),
        held_by=dict(Counter(one.submitter for one in memories).most_common()),
        sources=tuple(dict.fromkeys(one.source for one in memories if one.source)),
        since=min(one.created for one in memories),
        status=best.memory.status,
        score=fmean(scores) if scores else None,
        credibility=best.credibility.p,
        credits=sum(one.credibility.credits for one in some),
        lift=max(lifts, key=lambda one: one.shown + one.withheld),
        contradicts=tuple(sorted({place[rival] for one in some for rival in one.conflicts if rival in place})),
        right=_right(some),
    )
