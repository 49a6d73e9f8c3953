"""Questions that a pool is to answer: which wait for a person, and what becomes of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Literal

import redis
from pydantic import Field

from memshare.client.errors import Conflict, NotFound
from memshare.client.models_at_work import require_agent_model
from memshare.client.rest.calls.concepts import ConceptCalls, QuestionDecidedReply, QuestionReply
from memshare.client.rest.calls.needs import Need
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, audit
from memshare.operations.forms import TaskForm
from memshare.operations.retrievers import PoolPath
from memshare.operations.serving import serves
from memshare.operations.submitting import submit
from memshare_broker.errors import BadInput
from memshare_broker.wire.forms import Label
from memshare_broker.wire.messages import Message
from memshare_concepts.asking.round import Rounds, State, rounds_of
from memshare_concepts.decisions import Decisions
from memshare_concepts.gaps.open_questions import OpenQuestion, OpenQuestions
from memshare_memory.door.messages import JudgedMemory


class QuestionDecision(Message):
    """What a person decides on a question."""

    question: str = Field(min_length=1, max_length=100, description="its id")
    do: Literal["ask", "drop", "undecided"]
    agent: Label | None = None


def questions(backend: Backend, pools: Sequence[str]) -> Iterator[Need]:
    """Those of some pools on which nobody has decided: proposals to anybody, and what was asked in vain."""
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
    """What was asked in vain in a pool, and neither given to an agent nor dropped."""
    found = [one for one in OpenQuestions(client, pool).all() if one.journey is None]
    dismissed = Decisions(client, pool).dismissed() if found else {}
    return [one for one in found if one.gap.id not in dismissed]


def _need(pool: str, one: QuestionReply, since: float | None, memories: tuple[JudgedMemory, ...] = ()) -> Need:
    key = f"question {pool} {one.id}"
    return Need(kind="question", key=key, since=since, pool=pool, memories=memories, question=one)


@serves(ConceptCalls.decide_question)
def decide(backend: Backend, caller: Caller, pool: PoolPath, form: QuestionDecision) -> QuestionDecidedReply:
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
