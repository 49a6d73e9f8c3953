"""Concepts and duplicates of a pool, computed in a process of its own; what people decide on names, gaps, questions."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated, Literal
from uuid import UUID

import redis
from pydantic import Field

from memshare.client.errors import Conflict, NotFound
from memshare.client.pools import agent_of
from memshare.client.rest.calls.concepts import (
    AnsweredReply,
    ClusterReply,
    ConceptCalls,
    ConceptsReply,
    DecidedReply,
    GapReply,
    QuestionDecidedReply,
    QuestionReply,
    SimilarReply,
)
from memshare.client.rest.calls.decisions import DifferentReply, DuplicateReply, Duplicates, DuplicatesReply
from memshare.client.rest.calls.needs import Need
from memshare.extras import require
from memshare.operations.apart import ASKING, answered, computed
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, audit
from memshare.operations.retrievers import PoolPath
from memshare.operations.serving import serves
from memshare.operations.submitting import submit
from memshare_broker.connection import connect
from memshare_broker.errors import BadInput
from memshare_broker.settings import OFFLINE, Settings
from memshare_broker.wire.forms import InWords, Label, Written
from memshare_broker.wire.messages import MAX_MEMORIES
from memshare_concepts.decisions import Decisions, Merge, similar_id
from memshare_concepts.open_questions import OpenQuestion, OpenQuestions, Rounds, State, rounds_of
from memshare_memory.door.client import MemoryClient
from memshare_memory.door.messages import JudgedMemory
from memshare_memory.stores.store import Where


def questions(backend: Backend, pools: Sequence[str]) -> Iterator[Need]:
    """The undecided questions of some pools: proposals to anybody, and questions asked in vain."""
    with backend.reaching():
        rounds = rounds_of(backend.redis, pools)
        waiting = {pool: _waiting(backend.redis, pool) for pool in pools}
    proposed = {
        (pool, one.id): (one, f"Proposed to {person}, on {found.wanted.target.name}.")
        for pool, of_people in rounds.items()
        for person, found in of_people.items()
        for one in found.those("open")
    }
    near = backend.client.memories.judge([near.id for one, _ in proposed.values() for near in one.nearest])
    for (pool, _), (one, why) in proposed.items():
        beside = {each.id for each in one.nearest}
        memories = tuple(each for each in near if each.memory.id in beside)
        yield _need(pool, QuestionReply(id=one.id, question=one.question, why=why), None, memories)
    for pool, asked in waiting.items():
        for each in asked:
            yield _need(pool, QuestionReply(id=each.gap.id, question=each.question, why=each.why), each.at)


def _waiting(client: redis.Redis, pool: str) -> list[OpenQuestion]:
    """The questions asked in vain in a pool, and neither given to an agent nor dropped."""
    found = [one for one in OpenQuestions(client, pool).all() if one.journey is None]
    dismissed = Decisions(client, pool).dismissed() if found else {}
    return [one for one in found if one.gap.id not in dismissed]


def _need(pool: str, one: QuestionReply, since: float | None, memories: tuple[JudgedMemory, ...] = ()) -> Need:
    key = f"question {pool} {one.id}"
    return Need(kind="question", key=key, since=since, pool=pool, memories=memories, question=one)


@serves(ConceptCalls.decide_question, "QuestionDecision", right="curate", decides=True)
def decide_question(
    backend: Backend,
    caller: Caller,
    pool: PoolPath,
    question: Annotated[str, Field(min_length=1, max_length=100, description="its id")],
    do: Literal["ask", "drop", "undecided"],
    agent: Label | None = None,
) -> QuestionDecidedReply:
    """Note what a person decides; raises `NotFound`, and `Conflict` where somebody else was first."""
    caller.require_pool(pool)
    decisions, open_questions = Decisions(backend.redis, pool), OpenQuestions(backend.redis, pool)
    takes_back = do == "undecided"
    was: tuple[State, ...] = ("dropped", "submitted") if takes_back else ("open",)
    with backend.reaching():
        rounds = rounds_of(backend.redis, [pool])[pool]
        proposed = [(who, one) for who, found in rounds.items() for one in found.proposals if one.id == question]
        asked = [one for one in open_questions.all() if one.gap.id == question]
        is_decided = any(one.journey for one in asked) or question in decisions.dismissed()
    texts = [one.question for one in asked] + [one.question for _, one in proposed]
    if not texts:
        raise NotFound(f"No question of the pool {pool!r} has the id {question!r}.")
    somebody_was_first = is_decided != takes_back if asked else all(one.state not in was for _, one in proposed)
    if somebody_was_first:
        raise Conflict("Somebody else was first: this question was decided on, or is open again.")
    journey = None
    if do == "ask":
        journey = submit(backend, caller, agent_of(backend.client, pool, agent), texts[0]).id
    with backend.reaching():
        for each in asked:
            open_questions.give(each, journey)
            decisions.bring_back(question)
        if asked and do == "drop":
            decisions.dismiss(question, texts, datetime.now(UTC), caller.name)
        state: dict[str, State] = {"ask": "submitted", "drop": "dropped", "undecided": "open"}
        for who, one in proposed:
            decided = one.model_copy(update={"state": state[do], "task_id": journey})
            Rounds(backend.redis, pool, who).decide(decided, *was)
    audit(caller, "decide on a question", pool=pool, question=question, do=do)
    return QuestionDecidedReply(id=question, journey=journey)


@serves(ConceptCalls.answer, "QuestionForm")
def answer(
    backend: Backend,
    caller: Caller,
    pool: PoolPath,
    question: Written,
    memories: Annotated[int, Field(ge=1, le=MAX_MEMORIES, description="to answer from, at most")] = 8,
    only_memories: Annotated[bool, Field(description="whether the model may add nothing")] = False,
    deep: Annotated[bool, Field(description="whether it is answered in steps, each of some calls")] = False,
) -> AnsweredReply:
    """An answer with what it rests on; raises `NotYet` where the caller's cap is reached."""
    require_concepts(backend, caller, pool)
    caller.require("submit")
    backend.checked_text(question, "question")
    from memshare.client.answering import answer_from, answer_in_steps

    asked = (backend.settings, question, pool, memories, only_memories, caller.name)
    is_offline = backend.settings.model_for("agents") == OFFLINE
    if deep:
        reply = answered(answer_in_steps, *asked, None if ASKING.get() is None else DEEP_WITHIN)
    else:
        reply = answer_from(*asked) if is_offline else answered(answer_from, *asked)
    audit(caller, "answer", pool=pool, memories=len(reply.cites))
    return reply


TOPICS = 5  # of a cluster
KEPT = 60.0  # seconds for which what was computed is shown
DEEP_WITHIN = 75.0  # seconds at a door, after which no call of a run begins: the last one ends before nobody waits
KINDS = ("unexplained", "thin", "unconnected", "asked")  # of gaps
Name = Label


@serves(ConceptCalls.get)
def concepts(backend: Backend, caller: Caller, pool: PoolPath) -> ConceptsReply:
    """The concepts of a pool; raises `NotFound` for an unknown pool, and `NeedsExtra`.

    They are computed once a minute at most, so that who decides on one name after the other need not wait.
    """
    require_concepts(backend, caller, pool)
    there = backend.concepts.get(pool)
    if there is None or time.monotonic() - there[0] > KEPT:
        backend.concepts[pool] = (time.monotonic(), computed(_computed, backend.settings, pool))
    return undecided(backend, pool)


def undecided(backend: Backend, pool: str) -> ConceptsReply:
    """The last result for a pool, without the names and gaps that somebody has decided on since."""
    _, found = backend.concepts[pool]
    decisions = Decisions(backend.redis, pool)
    with backend.reaching():
        aliases, dismissed = decisions.aliases(), decisions.dismissed()
    left = [
        one
        for one in found.similar
        if aliases.key(one.keep) != aliases.key(one.other) and similar_id(one.keep, one.other) not in dismissed
    ]
    gaps = tuple(one for one in found.gaps if one.id not in dismissed)
    return found.model_copy(update={"similar": tuple(left), "gaps": gaps})


@serves(ConceptCalls.decide, "ConceptDecision", right="curate", decides=True)
def decide(
    backend: Backend,
    caller: Caller,
    pool: PoolPath,
    merge: Annotated[tuple[Name, Name] | None, Field(description="a name, and the concept that it means")] = None,
    split: Annotated[Name | None, Field(description="the name whose merge is taken back")] = None,
    apart: Annotated[tuple[Name, Name] | None, Field(description="two names that are two concepts")] = None,
    dismiss: Annotated[
        str | None, Field(pattern=f"^({'|'.join(KINDS)}):.", max_length=1_000), InWords("the id of a gap")
    ] = None,
    bring_back: Annotated[str | None, Field(max_length=1_000, description="the id of what was dismissed")] = None,
) -> DecidedReply:
    """Note what a person decides; raises `BadInput` for names that are one concept already."""
    caller.require_pool(pool)
    if sum(one is not None for one in (merge, split, apart, dismiss, bring_back)) != 1:
        raise BadInput("Say one thing: 'merge', 'split', 'apart', 'dismiss' or 'bring_back'.")
    now, undo = datetime.now(UTC), dict[str, tuple[str, ...] | str]()
    decisions = Decisions(backend.redis, pool)
    with backend.reaching():
        try:
            if merge:
                decisions.merge(Merge(of=merge[0], into=merge[1], at=now, by=caller.name))
                undo = {"split": merge[0]}
            elif split:
                undone = decisions.split(split)
                undo = {"merge": (undone.of, undone.into)}
            elif apart:
                decisions.keep_apart(*apart, now, caller.name)
                undo = {"bring_back": similar_id(*apart)}
            elif dismiss:
                decisions.dismiss(dismiss, dismiss.split(":")[1:], now, caller.name)
                undo = {"bring_back": dismiss}
            elif not decisions.bring_back(bring_back or ""):
                raise BadInput(f"Nothing of the pool {pool!r} was dismissed with the id {bring_back!r}.")
        except ValueError as error:
            raise BadInput(str(error)) from error
    audit(caller, "decide on concepts", pool=pool)
    return DecidedReply(undo=undo)


def require_concepts(backend: Backend, caller: Caller, pool: str) -> None:
    """Raise for who may not see a pool, for one that there is not, and where packages are missing."""
    caller.require("recall")
    caller.require_pool(pool)
    if pool not in backend.client.memories.stats().by_pool:
        raise NotFound(f"Pool {pool!r} has no memory yet: import some, or have tasks answered and graded.")
    require("What a pool is about", "concepts")


def _computed(settings: Settings, pool: str) -> ConceptsReply:
    """All of it, with numpy and scipy."""
    from functools import partial

    from memshare_concepts.cluster_cache import clusters_of
    from memshare_concepts.clusters import SIZE
    from memshare_concepts.gaps import gaps_now
    from memshare_concepts.nearly_same import proposed_names
    from memshare_concepts.pool_graph import encode, load
    from memshare_concepts.summaries import Summaries

    with closing(MemoryClient(settings)) as memory, connect(settings.redis) as client:
        found = load(memory, client, pool, vectors=True)
        if not found.memories:
            return ConceptsReply(pool=pool, memories=0, without=found.without)
        decisions, summaries = Decisions(client, pool), Summaries(client, pool)
        clusters = clusters_of(found, settings.data, SIZE)
        gaps = gaps_now(found, clusters, memory, client, decisions)
        similar = proposed_names(found.graph, partial(encode, memory), decisions)
        every = [(one, summaries.of(one.memories, found.memories)) for level in clusters.levels() for one in level]
    return ConceptsReply(
        pool=pool,
        memories=len(found.memories),
        without=found.without,
        clusters=tuple(
            ClusterReply(
                number=one.number,
                level=one.level,
                parent=one.parent,
                topics=tuple(topic.name for topic in one.topics[:TOPICS]) or (one.name,),
                memories=len(one.memories),
                summary=said.sentences if said else (),
                is_stale=said is not None and said.is_stale(one.memories),
            )
            for one, said in every
        ),
        gaps=tuple(GapReply(id=one.id, kind=one.kind, names=one.names, reason=one.reason) for one in gaps),
        similar=tuple(SimilarReply(**one._asdict()) for one in similar),
    )


DUPLICATES_KEPT = 600.0  # seconds for which what was found is shown
LOOKED_AT = 20_000  # memories: all of them with each other in some seconds
MOST = 50  # pairs, the most alike
Two = tuple[UUID, UUID]


@serves(Duplicates.list)
def duplicates(backend: Backend, caller: Caller, pool: PoolPath) -> DuplicatesReply:
    """The duplicates found in a pool; raises `NotFound` for an unknown pool, and `NeedsExtra`."""
    require_concepts(backend, caller, pool)
    there = backend.duplicates.get(pool)
    if there is None or time.monotonic() - there[0] > DUPLICATES_KEPT:
        there = backend.duplicates[pool] = (time.monotonic(), computed(_looked, backend.settings, pool))
    return there[1].model_copy(update={"duplicates": tuple(left_of(backend, pool))})


@serves(Duplicates.decide, "DifferentForm", right="curate", decides=True)
def say_different(
    backend: Backend, caller: Caller, pool: PoolPath, memories: Two, different: bool = True
) -> DifferentReply:
    """Note what a person says of two memories of a pool; raises `NotFound`."""
    caller.require_pool(pool)
    seen = {one.memory.id for one in backend.client.memories.judge(memories) if one.memory.pool == pool}
    for one in memories:
        if one not in seen:
            raise NotFound(f"No memory of the pool {pool!r} has the id {str(one)!r}.")
    with backend.reaching():
        say(backend.redis, pool, memories, different=different)
    reply = DifferentReply(memories=memories, different=different)
    audit(caller, "say of duplicates", pool=pool, **reply.model_dump(mode="json"))
    return reply


def left_of(backend: Backend, pool: str) -> list[DuplicateReply]:
    """The duplicates found last in a pool, without pairs that were decided on, or are gone or hidden, since."""
    _, found = backend.duplicates[pool]
    known = {(one.memories[0].memory.id, one.memories[1].memory.id): one for one in found.duplicates}
    with backend.reaching():
        pairs = but_different(backend.redis, pool, list(known))
    return _judged(backend.client.memories, [(two, known[two].cosine, known[two].differ) for two in pairs])


def _judged(memory: MemoryClient, found: Sequence[tuple[Two, float, str]]) -> list[DuplicateReply]:
    """Pairs of which both are there and shown, and are no contradiction."""
    judged = memory.judge([one for two, _, _ in found for one in two])
    known = {one.memory.id: one for one in judged if one.memory.status == "active"}
    return [
        DuplicateReply(memories=(known[one], known[other]), cosine=cosine, differ=differ)
        for (one, other), cosine, differ in found
        if one in known and other in known and other not in known[one].conflicts
    ]


def _looked(settings: Settings, pool: str) -> DuplicatesReply:
    """All of it, with numpy."""
    from memshare_concepts.nearly_same import duplicates as nearly_same
    from memshare_concepts.nearly_same import nearest
    from memshare_concepts.pool_graph import vectors_of

    with closing(MemoryClient(settings)) as memory:
        every = memory.every(Where(pool=pool, status="active"))
        memories, vectors = vectors_of(memory, islice(every, LOOKED_AT))
        found = nearly_same(memories, vectors)
        pairs = _judged(memory, found[:MOST])
        far = None if found else nearest(memories, vectors)
        below = _judged(memory, [far]) if far else []
    looked = DuplicatesReply(pool=pool, looked_at=len(memories), found=len(found), duplicates=tuple(pairs))
    return looked.model_copy(update={"nearest": next(iter(below), None)})


def say(client: redis.Redis, pool: str, two: Two, *, different: bool) -> None:
    """Note that both of two memories are wanted, or take that back."""
    if different:
        client.sadd(_key(pool), _both(two))
    else:
        client.srem(_key(pool), _both(two))


def but_different(client: redis.Redis, pool: str, pairs: list[Two]) -> list[Two]:
    """The pairs of a pool that nobody has noted as different."""
    known = client.smismember(_key(pool), [_both(two) for two in pairs]) if pairs else []
    return [two for two, is_known in zip(pairs, known, strict=True) if not is_known]


def _key(pool: str) -> str:
    return f"memshare:different:{pool}"


def _both(two: Two) -> str:
    return " ".join(sorted(map(str, two)))
