"""What a journey begins with: a task, a standard answer, or a pair that somebody brought."""

from __future__ import annotations

from typing import Literal, NamedTuple
from uuid import UUID

from pydantic import ValidationError

from memshare_broker.delivery.hops import OFFER, QUESTION, SCORE
from memshare_broker.wire.messages import AgentTask, AnsweredTask, Shown
from memshare_broker.wire.offers import OfferedPair
from memshare_broker.wire.questions import QuestionTask

What = Literal["task", "standard answer", "seed"]


class Begun(NamedTuple):
    """What a journey begins with; for what a foreign client sent in place of a task, its dead letter says more."""

    prompt: str
    what: What = "task"
    submitter: str = "unknown"
    kind: str | None = None
    answer: str | None = None
    agent: str | None = None
    pool: str | None = None
    model: str | None = None
    memories: tuple[Shown, ...] = ()
    recall_id: UUID | None = None
    part_of: str | None = None
    trial: str | None = None


def begun_with(task: object, stage: object, body: object) -> Begun:
    """What the entry of a message says that began a journey: its task, stage and body."""
    try:
        if task == OFFER.task:
            offered = OfferedPair.model_validate(body)
            return Begun(
                what="task",
                memories=offered.shown,
                **offered.model_dump(exclude={"rubric", "shown", "remember"}),
            )
        if stage == QUESTION.name:
            wanted = QuestionTask.model_validate(body)
            return Begun("", "standard answer", wanted.submitter, wanted.kind, wanted.answer)
        if stage == SCORE.name:
            pair = AnsweredTask.model_validate(body)
            what: What = "seed" if pair.seed else "task"
            return Begun(
                what=what,
                memories=tuple(one for one in pair.shown if one.share != 0),
                **pair.model_dump(
                    include={"prompt", "submitter", "kind", "answer", "agent", "pool", "model", "part_of"}
                ),
            )
        asked = AgentTask.model_validate(body)
        return Begun(asked.text, "task", asked.submitter, asked.kind)
    except ValidationError:
        return Begun(str(body))
