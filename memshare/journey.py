"""The journey of one task, as the command line shows it."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ValidationError

from broker.dead_letters import DeadLetter
from broker.errors import BadInput
from broker.ledger import Ledger, Parked
from broker.lessons import Lesson
from broker.messages import AgentTask, Answer, Score, Settlement, Shown, Step, Usage

State = Literal["queued", "answered", "graded", "settled", "dead"]


class Journey(BaseModel):
    """What is known of a task: every field of a hop is None until that hop is done."""

    task_id: str
    state: State
    agent: str
    kind: str | None = None
    prompt: str
    submitter: str
    submitted: float
    answer: str | None = None
    model: str | None = None
    memories: tuple[Shown, ...] = ()
    retriever_version: int | None = None
    usage: Usage | None = None
    seconds: float | None = None
    steps: tuple[Step, ...] = ()
    verified: bool | None = None
    """Whether a run in steps ended with a verified answer. One that is not is not graded: its journey ends there."""
    score: Score | None = None
    memory_id: UUID | None = None
    outcome: str | None = None
    reason: str | None = None
    lesson: Lesson | None = None
    waits: Parked | None = None
    """Why it waits beside its queue, and until when."""
    dead: DeadLetter | None = None


def read_journey(ledger: Ledger, task_id: str) -> Journey:
    """Put a journey together from its records; raises `BadInput` for an unknown id."""
    records = ledger.journey(task_id)
    dead = DeadLetter.model_validate(records["dead"]) if "dead" in records else None
    if "task" not in records and dead is None:
        raise BadInput(f"No task has the id {task_id!r}. Traces are kept for some days only (MEMSHARE_KEEP_DAYS).")
    entry = records.get("task") or {}
    body = entry.get("body")
    task = _task_in(body)
    answer = Answer.model_validate(records["answer"]) if "answer" in records else None
    settlement = Settlement.model_validate(records["settle"]) if "settle" in records else None
    score = Score.model_validate(records["score"]) if "score" in records else None
    state: State = "queued"
    for reached, name in ((answer, "answered"), (score, "graded"), (settlement, "settled"), (dead, "dead")):
        state = name if reached else state  # type: ignore[assignment]
    return Journey(
        task_id=task_id,
        state=state,
        agent=str(entry.get("queue", "")),
        kind=task.kind if task else None,
        prompt=task.text if task else str(body),
        submitter=task.submitter if task else "unknown",
        submitted=records.get("submitted", dead.died if dead else 0),
        answer=answer.answer if answer else None,
        model=answer.model if answer else None,
        memories=answer.memories if answer else (),
        retriever_version=answer.retriever_version if answer else None,
        usage=answer.usage if answer else None,
        seconds=answer.seconds if answer else None,
        steps=answer.steps if answer else (),
        verified=bool(answer.steps[-1].verified) if answer and answer.steps else None,
        score=score,
        memory_id=settlement.memory_id if settlement else None,
        outcome=settlement.outcome if settlement else None,
        reason=settlement.reason if settlement else None,
        lesson=Lesson.model_validate(records["learn"]) if "learn" in records else None,
        waits=ledger.waits(task_id) if state == "queued" else None,
        dead=dead,
    )


def _task_in(body: object) -> AgentTask | None:
    """The task, or None for what a foreign client sent in its place; its dead letter says what is wrong."""
    try:
        return AgentTask.model_validate(body)
    except ValidationError:
        return None
