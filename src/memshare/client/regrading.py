"""Grading memories again: which rubric takes them, which journey does it, and which of them are being graded now."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID, uuid4

from memshare.client.client import INTERACTIVE, Client
from memshare.client.pools import is_graded_by_programs, require_scorer_model
from memshare_broker.connection import reaching
from memshare_broker.delivery.hops import SCORE, SETTLE
from memshare_broker.errors import BadInput
from memshare_broker.wire.lessons import LONGEST_TEXT
from memshare_broker.wire.messages import RegradePair, derived_id
from memshare_memory.memory import Memory


def grader_of(client: Client, memory: Memory, what: str = "A grade") -> tuple[str, str]:
    """The agent and the rubric by which a memory is graded; raises `BadInput` where there is none, or no model.

    `what` begins the sentence that says that a model is missing.
    """
    if memory.is_statement:
        raise BadInput(f"{str(memory.id)!r} is a statement, and only the answer to a task can be graded.")
    cards = sorted(client.agents().values(), key=lambda card: card.name != memory.agent)
    card = next((one for one in cards if one.has(memory.pool) and one.rubric is not None), None)
    if card is None or card.rubric is None:
        raise BadInput(f"No agent with the pool {memory.pool!r} says its rubric, so nothing of it can be graded.")
    if not is_graded_by_programs(client, card.rubric, memory.kind):
        require_scorer_model(client, what)
    return card.name, card.rubric


def grade_again(client: Client, memory: Memory, submitter: str) -> str:
    """Have a memory graded, which the submitter pays for; returns the journey, which is the same until it has ended."""
    agent, rubric = grader_of(client, memory)
    name = _journey_of(memory)
    pair = RegradePair(
        journey=name,
        agent=agent,
        kind=memory.kind,
        pool=memory.pool,
        rubric=rubric,
        prompt=memory.prompt or "",
        answer=memory.answer,
        submitter=submitter,
        memory_id=memory.id,
        known=_found_right(client, memory),
    )
    if not client.send(SCORE.next(pair, name, INTERACTIVE, begins=True)) and not being_graded(client, [memory]):
        name = str(uuid4())  # it was given up before, or graded when it was as it is now
        client.send(SCORE.next(pair.model_copy(update={"journey": name}), name, INTERACTIVE, begins=True))
    return name


def _found_right(client: Client, memory: Memory) -> tuple[str, ...]:
    """Answers that a person found right in place of the memory, or of its sources: it is graded beside them."""
    sources = [one.memory for one in memory.because if one.became == "found wrong"]
    right = {one for judged in client.memories.judge([memory.id, *sources]) for one in judged.lost_to}
    there = client.memories.judge(sorted(right)) if right else []
    return tuple(one.memory.answer[:LONGEST_TEXT] for one in there)


def being_graded(client: Client, memories: Iterable[Memory]) -> set[UUID]:
    """The ids of the given memories that wait for a grade."""
    hops = {str(derived_id(_journey_of(one), hop.name)): one.id for one in memories for hop in (SCORE, SETTLE)}
    with reaching(client.settings.redis):
        return {hops[entry.id] for entry in client.ledger.open_of(list(hops))}


def _journey_of(memory: Memory) -> str:
    """Another one as soon as anything of the memory is."""
    return str(derived_id("grade again", memory.model_dump_json()))
