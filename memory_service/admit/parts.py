"""Sub-questions: those of a remembered answer that were answered, too, are graded as pairs of their own."""

from __future__ import annotations

from uuid import UUID

from memshare.broker.app import SCORER_QUEUE
from memshare.broker.delivery.stage import NextMessage
from memshare.broker.wire.messages import AnsweredTask, Shown, derived_id
from memshare.memory_service.memory import Memory, memory_id, saying


def gradings(task: AnsweredTask, memory: Memory) -> dict[UUID, NextMessage]:
    """The messages that have a task's sub-questions graded, by the memories that these may become.

    Their parents are what they were answered from, and `memory`, which the task's own answer became.
    """
    whole = Shown(id=memory.id, similarity=0.0, share=0.0, said=saying(memory.answer))
    messages = {}
    for part in task.parts:
        becomes = memory_id(task.pool, part.question, part.answer)
        journey = str(derived_id(task.journey, "part", str(becomes)))
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
        messages[becomes] = NextMessage("scorer.score", SCORER_QUEUE, "score", pair, journey)
    return messages
