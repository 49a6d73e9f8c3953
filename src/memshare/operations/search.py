"""Looking for memories, by a text or page by page; and whom one was shown to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from statistics import fmean
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from memshare.client.journey import Journey
from memshare.client.rest.calls.journeys import JourneyReply
from memshare.client.rest.calls.memories import (
    CountsReply,
    FoundMemory,
    Memories,
    MemoriesReply,
    MemoryReply,
    SearchReply,
    ShownReply,
    ShownTo,
)
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller
from memshare.operations.forms import CountForm, PageForm, SearchForm
from memshare.operations.journeys import is_seen
from memshare.operations.memories import get
from memshare.operations.opinions import contradicting
from memshare.operations.serving import READS, serves, tool
from memshare_broker.delivery.hops import ANSWER
from memshare_broker.delivery.journey_records import naming, recent
from memshare_broker.errors import BadInput
from memshare_broker.wire.forms import checked
from memshare_broker.wire.messages import Message, Shown, Usage
from memshare_memory.admit.followed import share_in, that_count
from memshare_memory.door.messages import SearchRequest
from memshare_memory.memory import Memory, Status, folded, sayings
from memshare_memory.people import wrong_by_saying
from memshare_memory.recall.near_enough import too_far
from memshare_memory.stores.store import CountKey, Order, Where

COUNTED_BY: tuple[CountKey, ...] = ("kind", "agent", "submitter", "model", "status")


class FoundReply(Message):
    """A memory that a search found."""

    id: UUID
    pool: str
    prompt: str | None
    answer: str
    kind: str | None
    submitter: str
    status: Status
    score: float | None
    similarity: float
    near: bool
    lost_to: tuple[UUID, ...] = Field(description="memories that a person found right: then this one is wrong")


class AllFound(Message):
    """Memories found by a search, the nearest first; `far` says that none is near enough to be an answer."""

    far: str
    memories: tuple[FoundReply, ...]


@serves(Memories.search, right="recall")
def search(backend: Backend, caller: Caller, form: SearchForm) -> SearchReply:
    """The memories nearest to a text, whatever has become of them."""
    text = backend.checked_text(form.text, "text")
    where = _where(backend, caller, form)
    found = backend.client.memories.search(
        SearchRequest(text=text, k=form.k, mode=form.mode, where=where, asked_by=caller.name)
    )
    least = backend.client.nearness(where.pool).least
    said = folded(text)
    near = [one.similarity >= least or said in folded(f"{one.memory.prompt} {one.memory.answer}") for one in found]
    far = "" if any(near) else too_far(max((one.similarity for one in found), default=None), least)
    lost = {one.memory.id: one.lost_to for one in backend.client.memories.judge([one.memory.id for one in found])}
    memories = (
        FoundMemory(memory=one.memory, similarity=one.similarity, near=is_near, lost_to=lost.get(one.memory.id, ()))
        for one, is_near in zip(found, near, strict=True)
    )
    return SearchReply(far=far, memories=tuple(memories))


@serves(Memories.page, right="recall")
def page(backend: Backend, caller: Caller, form: PageForm) -> MemoriesReply:
    """Some memories in the order of their ids, from where the page before ended, or the first ones in another order."""
    parents = None if form.parent is None else [form.parent]
    where = replace(_where(backend, caller, form), parents=parents)
    if form.order is not None:
        if form.cursor is not None:
            raise BadInput("A 'cursor' goes with the order of the ids: leave out 'order'.")
        order = Order(form.order, ascending=form.ascending)
        first = backend.client.memories.first(where, order, form.limit, form.skip)
        return MemoriesReply(memories=first, next=None)
    if form.skip:
        raise BadInput("'skip' goes with an 'order'; in the order of the ids the next page is by 'cursor'.")
    found = backend.client.memories.page(where, form.limit, form.cursor)
    return MemoriesReply(memories=found.memories, next=str(found.after) if found.after else None)


@serves(Memories.count, right="recall")
def count(backend: Backend, caller: Caller, form: CountForm) -> CountsReply:
    """How many memories there are, by what is known of them."""
    where = _where(backend, caller, form)
    by = backend.client.memories.count(where, "pool", *COUNTED_BY)
    return CountsReply(total=sum(by["pool"].values()), **by)


@tool(Memories.search, "search_memories", "Search memories", "recall", READS)
def search_by_model(
    backend: Backend,
    caller: Caller,
    text: str,
    pool: Annotated[str | None, Field(description="a pool of memshare://pools")] = None,
    kind: Annotated[str | None, Field(description="memories of this kind alone")] = None,
    k: Annotated[int, Field(ge=1, le=50)] = 10,
) -> AllFound:
    """Look for memories about something, also hidden and wrong ones: to answer what is known, or to find one to forget.
    To be helped with a task, call `recall`, which leaves out what proved poor."""
    found = search(backend, caller, checked(SearchForm, "The search", text=text, pool=pool, kind=kind, k=k))
    fields = FoundReply.model_fields.keys() & Memory.model_fields.keys()
    told = ({**one.memory.model_dump(include=fields), **one.model_dump(exclude={"memory"})} for one in found.memories)
    return AllFound(far=found.far, memories=tuple(FoundReply(**one) for one in told))


def _where(backend: Backend, caller: Caller, form: SearchForm | CountForm) -> Where:
    """The conditions of a form, with those of its status that the store does not know as ids."""
    pools = _pools(backend, caller, form.pool)
    if form.status not in ("contradicted", "found wrong"):
        return form.where(**pools, status=form.status)
    seen = [form.pool] if form.pool else [*filter(caller.sees, backend.client.memories.stats().by_pool)]
    found = [one for name in seen for one in backend.client.memories.conflicts(name)]
    if form.status == "found wrong":
        ids = {each for one in found if one.right for each in one.memories if each != one.right}
        with backend.reaching():
            known = wrong_by_saying(backend.redis).items()
            said = {(key, one.memory) for key, words in known for one in words if one.hides and one.pool in seen}
            there = [one.memory for one in backend.client.memories.judge(sorted({memory for _, memory in said}))]
            hidden = [one for one in there if one.status == "hidden"]
            ids |= {one.id for one in hidden if not said.isdisjoint((each, one.id) for each in sayings(one.answer))}
    else:
        ids = {each for one in found if not one.right for each in one.memories}
    return form.where(**pools, ids=sorted(ids) or [UUID(int=0)])  # that of no memory


def _pools(backend: Backend, caller: Caller, pool: str | None) -> dict[str, Any]:
    """Where to look, as fields of `Where`: in one pool, or where none is named in all of the caller's."""
    if pool is not None:
        caller.require_pool(pool)
        return {"pool": pool}
    seen = backend.pools_seen(caller)
    return {"pool": seen[0]} if seen and len(seen) == 1 else {"pools": seen}


MOST = 200  # journeys that are read
PROMPT = 300  # characters


@serves(Memories.shown_to)
def shown_to(
    backend: Backend, caller: Caller, memory_id: UUID, limit: Annotated[int, Field(ge=1, le=MOST)] = 50
) -> ShownReply:
    """The journeys that tell of a memory, as far as the caller may see them; raises `NotFound`."""
    found = get(backend, caller, memory_id)
    with backend.reaching():
        latest = recent(backend.redis)
        named = naming(backend.redis, latest, str(memory_id), "task", ANSWER.name)
    journeys = [seen for one in named[:MOST] if (seen := _seen(backend, caller, one)) is not None]
    told = [one for journey in journeys if (one := _told(journey, found)) is not None]
    made_by = found.memory.task_id
    maker = _seen(backend, caller, made_by) if made_by else None
    return ShownReply(
        shown=_mean([one for one in told if not one.withheld]),
        withheld=_mean([one for one in told if one.withheld]),
        journeys=tuple(islice(told, limit)),
        total=len(told),
        looked_at=len(latest),
        cost=_cost(maker) if maker else None,
    )


def _seen(backend: Backend, caller: Caller, journey_id: str) -> Journey | None:
    """A journey; None for one that the caller may not see, or whose records are gone."""
    try:
        journey = backend.client.journey(journey_id)
    except BadInput:
        return None
    return journey if is_seen(backend, caller, journey) else None


def _told(journey: Journey, found: MemoryReply) -> ShownTo | None:
    """A memory's part in a journey; None where it was not shown, but stands in the records as something else."""
    memory = found.memory
    withheld = journey.withheld is not None and journey.withheld.id == memory.id
    known = journey.withheld if withheld else next((one for one in journey.memories if one.id == memory.id), None)
    if known is None or journey.trial is not None:
        return None
    follows = memory.id in that_are_followed(journey, {memory.id: memory}, [found])
    return ShownTo(
        id=journey.task_id,
        agent=journey.agent,
        submitter=journey.submitter,
        submitted=journey.submitted,
        prompt=journey.prompt[:PROMPT],
        similarity=known.similarity,
        withheld=withheld,
        share=share_of(journey, known, memory, follows=follows),
        follows=follows,
        feedback=journey.feedback.get(memory.id),
        opinion=journey.opinion.found if journey.opinion else None,
        score=journey.score.total if journey.score else None,
        accepted=journey.score.accepted if journey.score else None,
    )


def that_are_followed(
    journey: Journey | JourneyReply, there: Mapping[UUID, Memory], judged: Iterable[MemoryReply]
) -> list[UUID]:
    """The memories shown that an answer follows, of those that are still `there`; and those that are gone."""
    shown = {} if journey.answer is None else {one.id: one for one in journey.memories}
    return that_count(journey.answer or "", journey.prompt, shown, there, contradicting(journey, judged))


def share_of(journey: Journey | JourneyReply, shown: Shown, memory: Memory | None, *, follows: bool) -> float | None:
    """A memory's share in an answer, or, where that `follows` it, how much of what it says stands there, else 0.

    None where that is not known, or it was withheld.
    """
    if shown is journey.withheld or shown.share is not None or journey.answer is None or memory is None:
        return shown.share
    return share_in(journey.answer, memory, journey.prompt) if follows else 0.0


def _mean(told: Sequence[ShownTo]) -> float | None:
    """The mean score of the graded ones, without those that a person found wrong."""
    scores = [one.score for one in told if one.score is not None and one.opinion != "wrong"]
    return fmean(scores) if scores else None


def _cost(maker: Journey) -> Usage:
    """The tokens of the journey that made a memory."""
    parts = (maker, maker.score, maker.lesson, maker.extracted)
    return sum((one.usage for one in parts if one is not None and one.usage is not None), Usage())
