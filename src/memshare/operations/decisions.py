"""Decisions of people: memories that contradict each other or are wrong, promotions to another pool, whom to trust."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cmp_to_key
from statistics import fmean
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from memshare.client.errors import Conflict, NotFound
from memshare.client.pools import contradictions, encoder_in_use
from memshare.client.rest.calls.decisions import (
    ConflictCalls,
    Contradiction,
    Decision,
    PromotionCalls,
    PromotionReply,
    SubmitterCalls,
    SubmitterReply,
    View,
    ViewsReply,
)
from memshare.client.rest.calls.journeys import JourneyReply
from memshare.client.rest.calls.memories import Hidden, Memories
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, audit
from memshare.operations.journeys import own_journey
from memshare.operations.memories import get
from memshare.operations.opinions import MOST, note_hidden
from memshare.operations.retrievers import PoolPath
from memshare.operations.serving import DESTROYS, serves, tool
from memshare.operations.sharing import give_feedback
from memshare_broker.errors import BadInput
from memshare_broker.wire.forms import Label, Written
from memshare_memory.belief.lift import memory_lift
from memshare_memory.belief.promotions import Promotions, Proposal, Said, promoted
from memshare_memory.belief.trust import Standings, Trust, decided, standings_key
from memshare_memory.belief.trust import decide as note_trust
from memshare_memory.contradictions import Strength, same_question
from memshare_memory.curate.requests import ConflictDecision, Edit, Forget, TrashRequest
from memshare_memory.door.messages import JudgedMemory, SearchRequest
from memshare_memory.memory import UNTRIED, Credibility, Memory, said, sayings
from memshare_memory.people import WrongAnswer, least_alike, note_wrong, refuse_wrong, words_that_hide
from memshare_memory.stores.store import Where

LOOKED_AT = 100  # memories, the nearest to a question


@serves(ConflictCalls.list, right="recall")
def conflicts(backend: Backend, caller: Caller, pool: Label | None = None) -> list[Contradiction]:
    """Every two memories of the caller's pools that contradict each other, pool by pool."""
    memories = backend.client.memories
    if pool is not None:
        caller.require_pool(pool)
        return contradictions(memories, [pool])
    return contradictions(memories, filter(caller.sees, sorted(memories.stats().by_pool)))


@serves(ConflictCalls.decide, right="curate", decides=True)
def decide_conflict(backend: Backend, caller: Caller, form: ConflictDecision) -> ConflictDecision:
    """Note what a person says of two memories of the caller's."""
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


@tool(Memories.call_wrong, "call_wrong", "Call a memory wrong", "curate", DESTROYS)
@serves(Memories.call_wrong, "WrongForm", right="curate", decides=True, why="It is closed on Tuesdays by now.")
def call_wrong(
    backend: Backend,
    caller: Caller,
    memory_id: Annotated[UUID, Field(description="from `recall` or `search_memories`")],
    why: Annotated[Label | None, Field(description="the reason, for whoever reads it or brings it in again")] = None,
) -> Hidden:
    """Hide a memory that is wrong, and what says the same, for everybody; it cannot be brought in again. Only when the
    user says that it is wrong."""
    memory = get(backend, caller, memory_id).memory
    if journey := _made_by(backend, caller, memory):
        give_feedback(backend, caller, journey=journey.id, reward=0.0)
    with backend.reaching():
        words = {one.journey: one for one in words_that_hide(backend.redis, memory)}
    name = journey.id if journey and journey.id in words else ""  # of another one a word is said of the memory alone
    about = {"by": caller.name, "journey": name, "why": why or "", "curated": True, "hides": True, "pool": memory.pool}

    def hide(one: Memory, copy_of: UUID | None = None) -> None:
        whose = {"memory": one.id, "prompt": one.prompt or one.answer, "submitter": one.submitter, "copy_of": copy_of}
        with backend.reaching():
            note_wrong(backend.redis, one.answer, WrongAnswer.model_validate(about | whose))
        backend.client.memories.edit(Edit(id=one.id, by=caller.name, status="hidden"))

    said_first = words.get(name)
    if said_first is None or said_first.copy_of or (why and said_first.by == caller.name):
        hide(memory)
    prompt, where = memory.prompt or memory.answer, Where(memory.pool, status="active", saying=sayings(memory.answer))
    found = backend.client.memories.search(SearchRequest(text=prompt, k=MOST, where=where))
    least, its = least_alike(memory.answer), said(prompt)
    copies = [one.memory for one in found if one.similarity >= least or said(one.memory.prompt or prompt) == its]
    if name:  # so that they are shown again when that is taken back
        note_hidden(backend, caller, own_journey(backend, caller, name), [one.id for one in copies], hidden=True)
    for one in copies:
        hide(one, memory_id)
    audit(caller, "call wrong", memory_id=memory_id, pool=memory.pool, hidden=1 + len(copies))
    return Hidden(ids=(memory_id, *(one.id for one in copies)))


def _made_by(backend: Backend, caller: Caller, memory: Memory) -> JourneyReply | None:
    """The journey whose answer a memory was kept from, if that is known, and the memory still says it."""
    with suppress(NotFound):
        journey = own_journey(backend, caller, memory.task_id) if memory.task_id else None
        if journey and journey.memory_id == memory.id and said(journey.answer or "") == said(memory.answer):
            return journey
    return None


@serves(ConflictCalls.views, "ViewsForm", right="recall")
def views(
    backend: Backend,
    caller: Caller,
    memory: UUID | None = None,
    pool: Label | None = None,
    question: Written | None = None,
) -> ViewsReply:
    """The views on a question of a pool, or on that of a memory; raises `NotFound`."""
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
        by_answer[said(one.memory.answer)].append(one)
    groups = [sorted(some, key=_place) for some in by_answer.values()]
    groups.sort(key=lambda some: _place(some[0]))
    groups.sort(key=lambda some: (True, None, False).index(_right(some)))
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


def _strength(one: JudgedMemory) -> Strength:
    """The strength by which recall puts a memory before others; what is not shown comes after all that is."""
    known = one.credibility
    return Strength.of(one.memory, known.p, known.credits, proven=one.memory.status == "active")


@cmp_to_key
def _place(one: JudgedMemory, other: JudgedMemory) -> int:
    first, second = _strength(one), _strength(other)
    return second.beats(first) - first.beats(second)


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


SAID: dict[Decision, Said] = {"promote": "promoted", "take back": "taken back", "refuse": "refused"}


@serves(PromotionCalls.list, right="recall")
def promotions(backend: Backend, caller: Caller) -> list[PromotionReply]:
    """The proposals of memories that there still are, the oldest first, where the caller sees both pools."""
    with backend.reaching():
        every = Promotions(backend.redis).every()
    return seen(backend, caller, every)


def seen(backend: Backend, caller: Caller, proposals: Iterable[Proposal]) -> list[PromotionReply]:
    """The proposals that the caller may see, with their memories; those promoted also from the trash."""
    found = {one.memory: one for one in proposals if caller.sees(one.pool) and caller.sees(one.to)}
    there = {one.memory.id: one for one in backend.client.memories.judge([*found])}
    gone = tuple(name for name, one in found.items() if name not in there and one.said == "promoted")
    for start in range(0, len(gone), LOOKED_AT):
        wanted = TrashRequest(ids=gone[start : start + LOOKED_AT], limit=LOOKED_AT)
        for one in backend.client.memories.trash(wanted).forgotten:
            worth = Credibility(p=UNTRIED, credits=0)
            there[one.memory.id] = JudgedMemory(memory=one.memory, credibility=worth, conflicts=())
    return [PromotionReply(memory=there[name], proposal=one) for name, one in found.items() if name in there]


def promoted_from(backend: Backend, caller: Caller, memory: Memory) -> UUID | None:
    """The memory whose promotion the caller may take back on the page of a memory: itself, or the one it was."""
    with backend.reaching():
        promotions = Promotions(backend.redis)
        of = [promotions.of(name) for name in (memory.id, *([memory.origin.memory] if memory.origin else ()))]
    found = seen(backend, caller, [one for one in of if one and one.said == "promoted"])
    return found[0].proposal.memory if found and caller.may("curate") else None


@serves(PromotionCalls.decide, "PromotionForm", right="curate", decides=True)
def decide_promotion(
    backend: Backend, caller: Caller, memory_id: UUID, decision: Decision = "promote"
) -> PromotionReply:
    """Carry out what a person decides on a proposal; raises `NotFound`, and `Conflict` where somebody was first, the
    answer was called wrong in that pool, or another memory was found right in its place."""
    promotions, memories = Promotions(backend.redis), backend.client.memories
    with backend.reaching():
        proposal = promotions.of(memory_id)
    found = seen(backend, caller, [proposal] if proposal else [])
    if proposal is None or not found:
        raise NotFound(f"No memory of yours with the id {str(memory_id)!r} is proposed for another pool.")
    if proposal.said != {"take back": "promoted", "undecided": "refused"}.get(decision):
        by = {None: "", caller.name: " by you"}.get(proposal.by, f" by {proposal.by}")
        raise Conflict(f"It is {proposal.said or 'undecided'}{by}: nothing was done.")
    if decision == "promote" and (lost_to := found[0].memory.lost_to):
        raise Conflict(f"A person found {str(lost_to[0])!r} right in its place: nothing was done.")
    new, gone = promoted(found[0].memory.memory, proposal, caller.name), list[UUID]()
    if decision == "promote" and not memories.judge([new.id]):
        with backend.reaching():
            given = [(new.answer, new.pool, new.prompt)]
            refuse_wrong(backend.redis, given, lambda text: memories.embed(text).unpack())
        memories.restore([new])
    elif decision == "take back":
        # What the pool had before stays there.
        there = memories.every(Where(pool=proposal.to, parents=[memory_id]))
        ids = tuple(one.id for one in there if one.origin and one.origin.memory == memory_id)
        gone = memories.forget(Forget(ids=ids, with_children=True)) if ids else []
    proposal = proposal.decided(SAID.get(decision), caller.name, new.id if decision == "promote" else None)
    with backend.reaching():
        promotions.put(proposal)
    audit(caller, decision, memory_id=memory_id, pool=proposal.pool, to=proposal.to, forgotten=len(gone))
    return PromotionReply(memory=found[0].memory, proposal=proposal, forgotten=tuple(gone))


@serves(SubmitterCalls.list, right="recall")
def submitters(backend: Backend, caller: Caller, pool: PoolPath) -> list[SubmitterReply]:
    """The submitters of a pool about whom something was said; none in a pool that has had no lesson."""
    caller.require_pool(pool)
    return submitters_of(backend, [pool])[pool]


@serves(SubmitterCalls.trust, "TrustForm", right="curate", decides=True)
def trust(
    backend: Backend,
    caller: Caller,
    pool: PoolPath,
    submitter: Label,
    said: Literal["trust", "leave", "undecided"] = "trust",
) -> SubmitterReply:
    """Note what a person says of a submitter, also of one of whom nothing is known; raises `NotFound`."""
    caller.require_pool(pool)
    if pool not in backend.client.memories.stats().by_pool:
        raise NotFound(f"Pool {pool!r} has no memory yet: import some, or have tasks answered and graded.")
    word = None if said == "undecided" else Trust(said=said, by=caller.name, at=time.time())
    with backend.reaching():
        note_trust(backend.redis, pool, submitter, word)
    audit(caller, "trust", pool=pool, submitter=submitter, said=said)
    return submitter_of(backend, pool, submitter)


def submitter_of(backend: Backend, pool: str, name: str) -> SubmitterReply:
    """A submitter by name, also if nothing was said about them."""
    found = {one.name: one for one in submitters_of(backend, [pool])[pool]}
    return found.get(name) or _reply(name, Standings(), None)


def submitters_of(backend: Backend, pools: list[str]) -> dict[str, list[SubmitterReply]]:
    """The submitters of some pools, by pool and name."""
    with backend.reaching():
        encoder = encoder_in_use(backend.settings, backend.redis)
        texts = backend.redis.mget([standings_key(pool, encoder) for pool in pools]) if pools else []
        said = decided(backend.redis)
    found = {}
    for pool, text in zip(pools, texts, strict=True):
        known, words = Standings.model_validate_json(text) if text else Standings(), said.get(pool, {})
        names = sorted(known.submitters.keys() | words.keys())
        found[pool] = [_reply(name, known, words.get(name)) for name in names]
    return found


def _reply(name: str, known: Standings, said: Trust | None) -> SubmitterReply:
    standing, unknown = known.submitters.get(name), {"worth": None, "error": None, "words": 0, "proven": False}
    told = standing.model_dump(include=set(unknown)) if standing else unknown
    if said is not None and said.said == "trust":
        told["proven"] = True
    return SubmitterReply(**told, name=name, said=said.said if said else None, by=said.by if said else None)
