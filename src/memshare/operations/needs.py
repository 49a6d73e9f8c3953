"""Everything that needs a person, in one list."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, permutations
from math import fsum
from typing import Annotated, NamedTuple
from uuid import UUID

from pydantic import Field

from memshare.client.pools import being_graded, contradictions
from memshare.client.rest.calls.decisions import Contradiction
from memshare.client.rest.calls.needs import Need, NeedsCalls, NeedsReply, StaleSource
from memshare.client.rest.calls.operating import DeadLetterReply
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, Right
from memshare.operations.concepts import left_of, questions, undecided
from memshare.operations.decisions import seen, submitters_of
from memshare.operations.listings import rubrics
from memshare.operations.operating import dead_letters
from memshare.operations.serving import serves
from memshare_broker.errors import MemshareError, Unreachable
from memshare_broker.wire.spaces import owner_of
from memshare_concepts.decisions import similar_id
from memshare_memory.admit.followed import LEAST_FOLLOWED, share_in
from memshare_memory.belief.promotions import Promotions, unconfirmed
from memshare_memory.contradictions import Strength
from memshare_memory.curate.requests import TrashRequest
from memshare_memory.door.messages import JudgedMemory
from memshare_memory.memory import Memory, joined, said
from memshare_memory.stores.store import Where
from memshare_scorer.recheck import RECHECKS, Recheck

UNCONFIRMED_DAYS = 90  # for which a memory is shown to graded tasks, and none goes well, before somebody is asked
IN_VAIN = f"They are shown to tasks, and for {UNCONFIRMED_DAYS} days none of those went well."
READ = 200  # stale memories of a pool
MOST_FORGOTTEN = 1_000  # sources that are looked for in the trash


class _Source(NamedTuple):
    """A memory that others were written from, whether it was forgotten, and what was found right in its place."""

    memory: Memory
    is_forgotten: bool
    lost_to: tuple[UUID, ...] = ()

    @property
    def stands(self) -> bool:
        """True if tasks may be shown it."""
        return not (self.is_forgotten or self.lost_to) and self.memory.status == "active"

    def then(self, child: Memory) -> str:
        """The answer that another memory was written from, also where it was under way when that changed."""
        changed = [one.at for one in child.because if (one.memory, one.became) == (self.memory.id, "changed")]
        _, answer = self.memory.text_before(changed[0]) if changed else self.memory.text_at(child.created)
        return answer


def stale(backend: Backend, caller: Caller, pools: Sequence[str]) -> Iterator[Need]:
    """Stale memories of some pools that are not being graded, by the first of their causes that can still be found."""
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
    told = [one.memory for one in some if is_told]
    repeats = [one.id for one in told if _repeats(one, told_of.model_copy(update={"answer": source.then(one)}))]
    newest = source.then(some[-1].memory) if is_told else None
    now = told_of.answer if is_told and not source.is_forgotten else None
    return Need(
        kind="stale memory", key=f"stale {pool} {told_of.id}", since=cause.at, pool=pool, repeats=tuple(repeats),
        memories=tuple(sorted(some, key=lambda one: one.memory.id not in repeats)),
        source=StaleSource(id=told_of.id, became=cause.became, then=newest, now=now, right=source.lost_to),
    )  # fmt: skip


def _repeats(memory: Memory, source: Memory) -> bool:
    return share_in(memory.answer, source, memory.prompt or "") >= LEAST_FOLLOWED


def _sources(backend: Backend, ids: Collection[UUID]) -> dict[UUID, _Source]:
    """The sources of stale memories, as far as the pool or the trash has them."""
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


MOST = 500
ENOUGH_WORDS = 10
"""Words on a submitter's memories, of which eight prove one who is as good as the pool's mean."""
MOST_NAMES = 20
"""Of a pool, the most alike: where these are decided, the next ones come."""


@dataclass(frozen=True)
class Look:
    """A search for everything that needs somebody: where, and for whom."""

    backend: Backend
    caller: Caller

    @cached_property
    def pools(self) -> list[str]:
        """The caller's pools, for which the memory service is asked once."""
        return sorted(filter(self.caller.sees, self.backend.client.memories.stats().by_pool))


@serves(NeedsCalls.list)
def needs(backend: Backend, caller: Caller, limit: Annotated[int, Field(ge=1, le=MOST)] = 100) -> NeedsReply:
    """The needs that the caller may see, the oldest first, as far as they can be read now."""
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


def may_decide(caller: Caller, need: Need) -> bool:
    """True where somebody who may be told of a need may decide it, too."""
    is_operating = need.kind in ("dead letter", "rubric") or (need.kind == "recheck" and not need.memories)
    return caller.may("admin" if is_operating else "curate")


def _speaks(
    one: JudgedMemory, other: JudgedMemory, held: Sequence[int] = (), given: Sequence[bool] = ()
) -> dict[str, UUID | str]:
    """The better one of two memories and why, where anything speaks clearly for it.

    Credibilities do where recall goes by them, too, and scores where the ranges that they were given do not meet.
    `held`: how many say each; `given`: whether a person does, where others say it, too.
    """
    two = (one.memory, other.memory)
    less, more = sorted(Strength(each.credibility.p, 0.0, each.credibility.credits) for each in (one, other))
    p = [each.credibility.p for each in (one, other)] if more.has_settled(less) else ()
    (low, high), (least, most) = map(_range, two)
    scores = [round(each.score) for each in two if each.score is not None] if low > most or least > high else ()
    measures: tuple[tuple[Sequence[float], str], ...] = (
        ([not each.lost_to for each in (one, other)], "a person found the other one wrong"),
        (p, "by the grades of tasks that were shown it, its credibility is {:.2f}, the other's {:.2f}"),
        (scores, "its answer was graded {} of 100, the other's {}"),
        (held, "{} submitters say the same, and {} the same as the other"),
        (given or [each.is_a_persons for each in two], "a person gave it so, and a task made the other"),
    )
    for values, why in measures:
        if len({*values}) == 2:
            better = two[values.index(max(values))]
            return {"better": better.id, "speaks": why.format(max(values), min(values))}
    return {}


def _range(memory: Memory) -> tuple[float, float]:
    """The range of points that a memory was given, whose middle is its score; (0, 100) without a score."""
    if memory.score is None:
        return 0.0, 100.0
    each = memory.criteria.values()
    return (fsum(one.low for one in each), fsum(one.high for one in each)) if each else (memory.score, memory.score)


def _with_sources(backend: Backend, known: Mapping[UUID, _Source]) -> dict[UUID, _Source]:
    """Some memories, and what they were written from, through others, too."""
    found, looked = dict(known), {*known}
    while new := {parent for one in found.values() for parent in one.memory.parents} - looked:
        found |= _sources(backend, new)
        looked |= new
    return found


def _written_from(memory: Memory, known: Mapping[UUID, _Source]) -> set[UUID]:
    """The memories that one was written from, through others, too, as far as they are known."""
    found, left = set[UUID](), [memory]
    while left:
        new = {each for each in left.pop().parents if each in known} - found
        found |= new
        left += [known[each].memory for each in new]
    return found


def _of_originals(look: Look, found: Sequence[Contradiction], known: Mapping[UUID, _Source]) -> Iterator[Contradiction]:
    """The contradictions of what people brought in that nobody compared, but only what was written from it.

    A memory that repeats just one of these stands for that.
    """

    def original(one: Memory) -> UUID:
        of = [known[each] for each in _written_from(one, known) if known[each].stands]
        own = [each.memory for each in of if each.memory.is_a_persons and each.memory.pool == one.pool]
        repeated = [each.id for each in own if _repeats(one, each)]
        return repeated[0] if len(repeated) == 1 else one.id

    claims = {frozenset(original(each.memory) for each in one.memories): one.claims for one in found}
    compared = {frozenset(each.memory.id for each in one.memories) for one in found}
    left = [names for names in claims.keys() - compared if len(names) == 2]
    judged = {one.memory.id: one for one in look.backend.client.memories.judge([*frozenset().union(*left)])}
    for names in (each for each in left if each <= judged.keys()):
        older, younger = sorted(map(judged.__getitem__, names), key=lambda one: one.memory.created)
        if younger.memory.id not in older.both_right:
            yield Contradiction(memories=(older, younger), claims=claims[names])


def _conflicts(look: Look) -> Iterator[Need]:
    found = contradictions(look.backend.client.memories, look.pools)
    sides = {each.memory.id: _Source(each.memory, False, each.lost_to) for one in found for each in one.memories}
    known = _with_sources(look.backend, sides)
    denying: defaultdict[tuple[str, str], set[UUID]] = defaultdict(set)
    of_two: defaultdict[tuple[str, ...], dict[tuple[UUID, ...], Contradiction]] = defaultdict(dict)
    for side, against in (two for one in found for two in permutations(each.memory for each in one.memories)):
        denying[side.pool, said(against.answer)].add(side.id)
    for one in (*found, *_of_originals(look, found, known)):
        two = [each.memory for each in one.memories]
        of_two[two[0].pool, *sorted(said(each.answer) for each in two)][tuple(each.id for each in two)] = one

    def held(ids: Collection[UUID], view: str, denied: str) -> tuple[int, bool]:
        """The number of submitters who say a view with these memories, and whether a person gave it so.

        A task's answer that was written from another that denies the same is a copy, and no word of its own. What
        repeats what a person gave rests on that, also in other words.
        """
        saying = [one.memory for one in map(known.__getitem__, ids) if one.stands and said(one.memory.answer) == view]
        before = {one.id: _written_from(one, known) for one in saying}
        own = [one for one in saying if one.is_a_persons or before[one.id].isdisjoint(denying[one.pool, denied])]
        given = [*own]
        for child, source in ((one, known[each]) for one in saying for each in before[one.id]):
            says_so = said(source.memory.answer) == view
            repeats = said(source.memory.answer) != denied and _repeats(child, source.memory)
            given += [source.memory] * (source.stands and (says_so or repeats))
        return max(len({one.submitter for one in own}), 1), any(one.is_a_persons for one in given)

    cards: defaultdict[tuple[str, ...], list[Need]] = defaultdict(list)
    for pairs in of_two.values():
        for part in joined([(known[one].memory, known[other].memory) for one, other in pairs]):
            # One that is hidden or lost to another memory is not shown, whatever is said of these two; a stale one has
            # its own card. What is decided on the oldest is decided on all.
            shown = [pairs[one.id, other.id] for one, other in part if known[one.id].stands and known[other.id].stands]
            if left := [one for one in shown if not one.confirmed]:
                need, ids = min(map(_conflict, left), key=_age), {each.id for two in part for each in two}
                first, second = need.memories
                views = said(first.memory.answer), said(second.memory.answer)
                many, given = zip(*(held(ids, *each) for each in permutations(views)), strict=True)
                need = need.model_copy(update=_speaks(first, second, many, given))
                cards[need.pool or "", *sorted(said(each.memory.key) for each in need.memories)].append(need)
    at_odds = _at_odds([one for some in cards.values() for one in some if one.better], known)
    for some in cards.values():
        some = [one.model_copy(update={"better": None, "speaks": None}) if one.key in at_odds else one for one in some]
        oldest, *others = sorted(some, key=_age)
        yield oldest.model_copy(update={"others": tuple(others)})


def _at_odds(some: Sequence[Need], known: Mapping[UUID, _Source]) -> set[str]:
    """The keys of contradictions where what is better in each is, or is repeated by, what is worse in another."""
    sides = dict[str, tuple[set[UUID], ...]]()
    for need in some:
        two = sorted((each.memory for each in need.memories), key=lambda one: one.id != need.better)
        sides[need.key] = tuple(
            {one.id, *(each for each in _written_from(one, known) if _repeats(one, known[each].memory))} for one in two
        )
    return {
        key
        for (key, (better, worse)), (_, (right, wrong)) in permutations(sides.items(), 2)
        if better & wrong and right & worse
    }


def _conflict(one: Contradiction) -> Need:
    first, second = (each.memory for each in one.memories)
    return Need(
        kind="conflict", key=f"conflict {first.id} {second.id}", since=max(first.created, second.created),
        pool=first.pool, memories=one.memories, claims=one.claims,
    )  # fmt: skip


def _age(need: Need) -> tuple[float, str]:
    return need.since or 0.0, need.key


def _submitters(look: Look) -> Iterator[Need]:
    for pool, of in submitters_of(look.backend, look.pools).items() if look.backend.settings.learn else ():
        for one in of:
            if not one.proven and one.said is None and one.words >= ENOUGH_WORDS and not owner_of(pool):
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
                cosine=one.cosine, why=f"Their answers differ: {one.differ}" if one.differ else None,
            ).model_copy(update=_speaks(*one.memories))  # fmt: skip


def _promotions(look: Look) -> Iterator[Need]:
    with look.backend.reaching():
        proposed = [one for one in Promotions(look.backend.redis).every() if one.said is None]
    for one in seen(look.backend, look.caller, proposed):
        if one.memory.memory.status == "active":
            name, since = one.memory.memory.id, one.proposal.at
            yield Need(
                kind="promotion", key=f"promotion {name}", since=since, pool=one.proposal.pool, memories=(one.memory,),
                promotion=one.proposal,
            )  # fmt: skip


def _letters(look: Look) -> Iterator[Need]:
    of_one_reason: defaultdict[str, list[DeadLetterReply]] = defaultdict(list)
    for one in dead_letters(look.backend, look.caller):
        of_one_reason[one.reason].append(one)
    for first, *alike in of_one_reason.values():
        key, pool = f"letter {first.id}", first.pool if all(one.pool == first.pool for one in alike) else None
        yield Need(kind="dead letter", key=key, since=first.died, pool=pool, letter=first, alike=tuple(alike))


def _rubrics(look: Look) -> Iterator[Need]:
    for one in rubrics(look.backend, look.caller):
        if not one.approved:
            yield Need(kind="rubric", key=f"rubric {one.name}", since=None, pool=None, rubric=one)


def _unchecked(look: Look) -> Iterator[Need]:
    """Pools whose checks broke, and memories that are used in vain, of pools with checks the statements alone."""
    backend, before = look.backend, time.time() - UNCONFIRMED_DAYS * 86_400
    for pool in look.pools:
        with backend.reaching():
            last, since = backend.redis.hget(RECHECKS, pool), unconfirmed(backend.redis, pool, before, MOST_FORGOTTEN)
        if last and (found := Recheck.model_validate_json(last)).why:
            yield Need(kind="recheck", key=f"recheck {pool}", since=found.at, pool=pool, why=found.why)
        judged = [one for one in backend.client.memories.judge([*since]) if one.memory.status == "active"]
        if some := [one for one in judged if not last or one.memory.is_statement]:
            key, oldest = f"unconfirmed {pool}", min(since[one.memory.id] for one in some)
            yield Need(kind="recheck", key=key, since=oldest, pool=pool, memories=tuple(some), why=IN_VAIN)


SOURCES: tuple[tuple[Right, Callable[[Look], Iterator[Need]]], ...] = (
    ("recall", _conflicts),
    ("recall", lambda look: stale(look.backend, look.caller, look.pools)),
    ("recall", _unchecked),
    ("recall", _submitters),
    ("recall", lambda look: questions(look.backend, look.pools)),
    ("recall", _names),
    ("recall", _duplicates),
    ("recall", _promotions),
    ("admin", _letters),
    ("admin", _rubrics),
)
"""The sources of needs, each with the right to be told of them."""
