"""Concepts: what a pool is about, computed in a process of its own; what people decide on names, gaps, questions."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Literal

import redis
from pydantic import Field, model_validator

from memshare.client.errors import Conflict, NotFound
from memshare.client.pools import require_agent_model
from memshare.client.rest.calls.concepts import (
    AnsweredReply,
    CitedMemory,
    ClusterReply,
    ConceptCalls,
    ConceptsReply,
    DecidedReply,
    GapReply,
    QuestionDecidedReply,
    QuestionReply,
    SimilarReply,
)
from memshare.client.rest.calls.needs import Need
from memshare.extras import require
from memshare.operations.apart import answered, computed
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, audit
from memshare.operations.forms import TaskForm
from memshare.operations.retrievers import PoolPath
from memshare.operations.serving import serves
from memshare.operations.submitting import submit
from memshare_broker.connection import connect
from memshare_broker.errors import BadInput
from memshare_broker.settings import OFFLINE, Settings
from memshare_broker.wire.forms import Label, Written
from memshare_broker.wire.messages import MAX_MEMORIES, Message
from memshare_concepts.asking.round import Rounds, State, rounds_of
from memshare_concepts.decisions import Decisions, Merge, similar_id
from memshare_concepts.gaps.open_questions import OpenQuestion, OpenQuestions
from memshare_memory.door.client import MemoryClient
from memshare_memory.door.messages import JudgedMemory


class QuestionDecision(Message):
    """A person's decision on a question."""

    question: str = Field(min_length=1, max_length=100, description="its id")
    do: Literal["ask", "drop", "undecided"]
    agent: Label | None = None


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


@serves(ConceptCalls.decide_question)
def decide_question(backend: Backend, caller: Caller, pool: PoolPath, form: QuestionDecision) -> QuestionDecidedReply:
    """Note what a person decides; raises `NotFound`, and `Conflict` where somebody else was first."""
    caller.require("curate")
    caller.require_pool(pool)
    decisions, open_questions = Decisions(backend.redis, pool), OpenQuestions(backend.redis, pool)
    takes_back = form.do == "undecided"
    was: tuple[State, ...] = ("dropped", "submitted") if takes_back else ("open",)
    with backend.reaching():
        rounds = rounds_of(backend.redis, [pool])[pool]
        proposed = [(who, one) for who, found in rounds.items() for one in found.proposals if one.id == form.question]
        asked = [one for one in open_questions.all() if one.gap.id == form.question]
        is_decided = any(one.journey for one in asked) or form.question in decisions.dismissed()
    texts = [one.question for one in asked] + [one.question for _, one in proposed]
    if not texts:
        raise NotFound(f"No question of the pool {pool!r} has the id {form.question!r}.")
    somebody_was_first = is_decided != takes_back if asked else all(one.state not in was for _, one in proposed)
    if somebody_was_first:
        raise Conflict("Somebody else was first: this question was decided on, or is open again.")
    journey = submit(backend, caller, _task(backend, pool, texts[0], form.agent)).id if form.do == "ask" else None
    with backend.reaching():
        for each in asked:
            open_questions.give(each, journey)
            decisions.bring_back(form.question)
        if asked and form.do == "drop":
            decisions.dismiss(form.question, texts, datetime.now(UTC), caller.name)
        state: dict[str, State] = {"ask": "submitted", "drop": "dropped", "undecided": "open"}
        for who, one in proposed:
            decided = one.model_copy(update={"state": state[form.do], "task_id": journey})
            Rounds(backend.redis, pool, who).decide(decided, *was)
    audit(caller, "decide on a question", pool=pool, question=form.question, do=form.do)
    return QuestionDecidedReply(id=form.question, journey=journey)


def _task(backend: Backend, pool: str, question: str, agent: str | None) -> TaskForm:
    """The question as a task of the agent that is named, or of the only one of the pool; raises `BadInput`."""
    there = sorted(card.name for card in backend.cards().values() if card.pool == pool)
    name = there[0] if agent is None and len(there) == 1 else agent
    if name not in there:
        raise BadInput(f"Name one of the agents of the pool {pool!r}, not {agent!r}: {', '.join(there) or 'none'}.")
    require_agent_model(backend.client, [name], f"Agent {name!r}")
    return TaskForm(agent=name, prompt=question)


class QuestionForm(Message):
    """A question to a pool."""

    question: Written
    memories: int = Field(default=8, ge=1, le=MAX_MEMORIES, description="to answer from, at most")
    only_memories: bool = Field(default=False, description="whether the model may add nothing")


@serves(ConceptCalls.answer)
def answer(backend: Backend, caller: Caller, pool: PoolPath, form: QuestionForm) -> AnsweredReply:
    """An answer with what it rests on; raises `NotYet` where the caller's cap is reached."""
    require_concepts(backend, caller, pool)
    caller.require("submit")
    backend.checked_text(form.question, "question")
    asked = (backend.settings, pool, form, caller.name)
    is_offline = backend.settings.model_for("agents") == OFFLINE
    reply = _answered(*asked) if is_offline else answered(_answered, *asked)
    audit(caller, "answer", pool=pool, memories=len(reply.cites))
    return reply


def _answered(settings: Settings, pool: str, form: QuestionForm, payer: str) -> AnsweredReply:
    from memshare.client.answering import answer_from

    said, found = answer_from(
        settings, form.question, pool, form.memories, only_memories=form.only_memories, payer=payer
    )
    similarity = {one.memory.id: one.similarity for one in found}
    return AnsweredReply(
        answer=said.answer,
        cites=tuple(
            CitedMemory(id=one.id, why=why, similarity=similarity[one.id], prompt=one.prompt, answer=one.answer)
            for one, why in said.cites
        ),
        own_knowledge=said.own_knowledge,
        questions=said.questions,
        model=said.model,
    )


TOPICS = 5  # of a cluster
KEPT = 60.0  # seconds for which what was computed is shown
KINDS = ("unexplained", "thin", "unconnected", "asked")  # of gaps
Name = Label


class ConceptDecision(Message):
    """A person's decision on concepts: exactly one of these fields."""

    merge: tuple[Name, Name] | None = Field(default=None, description="a name, and the concept that it means")
    split: Name | None = Field(default=None, description="the name whose merge is taken back")
    apart: tuple[Name, Name] | None = Field(default=None, description="two names that are two concepts")
    dismiss: str | None = Field(default=None, pattern=f"^({'|'.join(KINDS)}):.", max_length=1_000)
    bring_back: str | None = Field(default=None, max_length=1_000, description="the id of what was dismissed")

    @model_validator(mode="after")
    def _one(self) -> ConceptDecision:
        if len(self.model_dump(exclude_none=True)) != 1:
            raise ValueError("say one thing: 'merge', 'split', 'apart', 'dismiss' or 'bring_back'")
        return self


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


@serves(ConceptCalls.decide)
def decide(backend: Backend, caller: Caller, pool: PoolPath, form: ConceptDecision) -> DecidedReply:
    """Note what a person decides; raises `BadInput` for names that are one concept already."""
    caller.require("curate")
    caller.require_pool(pool)
    now, undo = datetime.now(UTC), dict[str, tuple[str, ...] | str]()
    decisions = Decisions(backend.redis, pool)
    with backend.reaching():
        try:
            if form.merge:
                decisions.merge(Merge(of=form.merge[0], into=form.merge[1], at=now, by=caller.name))
                undo = {"split": form.merge[0]}
            elif form.split:
                merge = decisions.split(form.split)
                undo = {"merge": (merge.of, merge.into)}
            elif form.apart:
                decisions.keep_apart(*form.apart, now, caller.name)
                undo = {"bring_back": similar_id(*form.apart)}
            elif form.dismiss:
                decisions.dismiss(form.dismiss, form.dismiss.split(":")[1:], now, caller.name)
                undo = {"bring_back": form.dismiss}
            elif not decisions.bring_back(form.bring_back or ""):
                raise BadInput(f"Nothing of the pool {pool!r} was dismissed with the id {form.bring_back!r}.")
        except ValueError as error:
            raise BadInput(str(error)) from error
    audit(caller, "decide on concepts", pool=pool)
    return DecidedReply(undo=undo)


def require_concepts(backend: Backend, caller: Caller, pool: str) -> None:
    """Raise for who may not see a pool, for one that there is not, and where packages are missing."""
    caller.require("recall")
    caller.require_pool(pool)
    if pool not in backend.client.memories.stats().by_pool:
        raise NotFound(f"No memory is in a pool {pool!r}.")
    require("What a pool is about", "concepts")


def _computed(settings: Settings, pool: str) -> ConceptsReply:
    """All of it, with numpy and scipy."""
    from functools import partial

    from memshare_concepts.clusters.cluster_cache import clusters_of
    from memshare_concepts.clusters.clustering import SIZE
    from memshare_concepts.gaps.gaps import gaps_now
    from memshare_concepts.nearly_same import proposed_names
    from memshare_concepts.pool_graph import encode, load
    from memshare_concepts.summaries.summary import Summaries

    with closing(MemoryClient(settings)) as memory, connect(settings.redis) as client:
        found = load(memory, client, pool, vectors=True)
        if not found.memories:
            return ConceptsReply(pool=pool, memories=0, without=found.without)
        decisions, summaries = Decisions(client, pool), Summaries(client, pool)
        clusters = clusters_of(found, settings.data, SIZE)
        gaps = gaps_now(found, clusters, memory, client, decisions)
        similar = proposed_names(found.graph, partial(encode, memory), decisions)
        every = [(one, summaries.of(one.memories)) for level in clusters.levels() for one in level]
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
