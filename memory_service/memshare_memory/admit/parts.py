"""Sub-questions: those of a remembered answer that were answered, too, are graded as pairs of their own."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from memshare_broker.delivery.hops import SCORE, NextMessage
from memshare_broker.wire.messages import AnsweredTask, Shown, derived_id
from memshare_memory.memory import Memory, memory_id, saying


def gradings(task: AnsweredTask, memory: Memory) -> list[NextMessage]:
    """The messages that have a task's sub-questions graded, each in a journey of its own.

    Their parents are what they were answered from, and `memory`, which the task's own answer became.
    """
    whole = Shown(id=memory.id, similarity=0.0, share=0.0, said=saying(memory.answer))
    messages: dict[str, NextMessage] = {}
    for part in task.parts:
        journey = str(derived_id(task.journey, "part", str(memory_id(task.pool, part.question, part.answer))))
        pair = AnsweredTask(
            journey=journey,
            agent=task.agent,
            kind=task.kind,
            pool=task.pool,
            rubric=task.rubric,
            prompt=part.question,
            answer=part.answer,
            model=task.model,
            submitter=task.submitter,
            shown=(whole, *(one for one in part.shown if one.id != memory.id)),
            part_of=task.journey,
        )
        messages[journey] = SCORE.next(pair, journey)
    return list(messages.values())


def parts_among(messages: Iterable[NextMessage]) -> dict[UUID, UUID]:
    """The journeys of the sub-questions among messages, by the memories that these may become."""
    pairs = [one.body for one in messages if isinstance(one.body, AnsweredTask)]
    return {memory_id(pair.pool, pair.prompt, pair.answer): UUID(pair.journey) for pair in pairs}
