"""The journey of one task, or of one standard answer, as the command line shows it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple
from uuid import UUID

from pydantic import BaseModel, ValidationError

from memshare_broker.delivery.dead_letters import DeadLetter
from memshare_broker.delivery.hops import (
    ANSWER,
    COMPARE,
    EXTRACT,
    LEARN,
    NOTE_CONCEPTS,
    OFFER,
    QUESTION,
    SCORE,
    SETTLE,
    Hop,
    R,
)
from memshare_broker.delivery.journey_records import ended_at
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.errors import BadInput
from memshare_broker.wire.grades import OfferedPair, Opinion, QuestionTask, Score, Settlement
from memshare_broker.wire.lessons import Compared, Extracted, Lesson, NotedConcepts
from memshare_broker.wire.messages import (
    AgentTask,
    Cancellation,
    Parked,
    Quoted,
    Record,
    Shown,
    Step,
    Usage,
    derived_id,
)

What = Literal["task", "standard answer", "seed"]


class Begun(NamedTuple):
    """Beginning of a journey. Where a foreign client sent something other than a task, its dead letter says more."""

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
    """The beginning of a journey, from the message that began it: its task, stage and body."""
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
            pair = SCORE.read(body)
            return Begun(
                what="seed" if pair.what == "seed" else "task",
                memories=tuple(one for one in pair.shown if one.share != 0),
                **pair.model_dump(
                    include={"prompt", "submitter", "kind", "answer", "agent", "pool", "model", "part_of"}
                ),
            )
        asked = AgentTask.model_validate(body)
        return Begun(asked.text, "task", asked.submitter, asked.kind)
    except ValidationError:
        return Begun(str(body))


State = Literal["queued", "asked", "answered", "graded", "cancelled", "settled", "dead"]
NEXT: Mapping[State, str] = {"asked": SCORE.name, "answered": SCORE.name, "graded": SETTLE.name}
"""The hop that is to come, in which a journey of that state is."""


class Journey(BaseModel):
    """A task so far: every field of a hop is None until that hop is done."""

    task_id: str
    what: What = "task"
    """A standard answer begins with its agent being asked for the question, a seed has its question from the start."""
    state: State
    agent: str
    pool: str | None = None
    """Of a pair that somebody brought; of any other it is its agent's."""
    kind: str | None = None
    prompt: str
    """Of a standard answer the question; empty until there is one."""
    submitter: str
    submitted: float
    answer: str | None = None
    model: str | None = None
    memories: tuple[Shown, ...] = ()
    withheld: Shown | None = None
    """A memory that was recalled and, at random, not shown, to measure what memories do."""
    quoted: Quoted | None = None
    """The memory whose answer it is, word for word, where there is no model."""
    recall_id: UUID | None = None
    """Of a pair that somebody brought: the recall that found its memories."""
    feedback: dict[UUID, float] = {}
    """The worth of its memories, as told by whoever knows the outcome."""
    opinion: Opinion | None = None
    """Somebody's opinion of the answer as a whole."""
    retriever_version: int | None = None
    usage: Usage | None = None
    seconds: float | None = None
    reasoning: str = ""
    """How the model came to its answer, where it tells that."""
    notes: tuple[str, ...] = ()
    """Notes on the prompt: memories that did not fit, a server that cut it."""
    steps: tuple[Step, ...] = ()
    verified: bool | None = None
    """True if a run in steps ended with a verified answer. Otherwise it is not graded: its journey ends there."""
    score: Score | None = None
    memory_id: UUID | None = None
    outcome: str | None = None
    reason: str | None = None
    parts: dict[UUID, UUID] = {}
    """Its sub-questions that are graded on their own: the journey of each, by the memory that it may become."""
    part_of: str | None = None
    """The task whose sub-question it is."""
    trial: str | None = None
    """The rubric that it was graded by only to see what that says."""
    lesson: Lesson | None = None
    compared: Compared | None = None
    """Which memories it contradicts, where it was compared with some."""
    extracted: Extracted | None = None
    """Which concepts its memory has, where they were asked for."""
    noted: NotedConcepts | None = None
    """Result of writing them to the memory."""
    waits: Parked | None = None
    """Why it waits beside its queue, and until when."""
    cancelled: Cancellation | None = None
    """When and why it was ended before it was through."""
    dead: DeadLetter | None = None
    hops: dict[str, float] = {}
    """When each hop ended, as Unix time in seconds."""
    details_dropped: bool = False
    """True if its details are gone, which are kept for MEMSHARE_KEEP_TRACES_DAYS: steps, ranges of the grade, lesson,
    concepts, and `hops`."""

    @property
    def ended(self) -> bool:
        """True if nothing more becomes of the task: it was settled, cancelled or given up, not verified, or a trial.

        The lesson of a settled pair may still come.
        """
        if self.state in ("cancelled", "settled", "dead"):
            return True
        return (self.state == "answered" and self.verified is False) or (self.state == "graded" and bool(self.trial))


def read_journey(ledger: Ledger, task_id: str) -> Journey:
    """Read a journey; raises `BadInput` for an unknown id."""
    found = read_journeys(ledger, [task_id])
    if not found:
        raise BadInput(
            f"No task has the id {task_id!r}. Tasks are known for some days only (MEMSHARE_KEEP_DAYS). "
            "A memory is shown by `memshare memories show ID`."
        )
    return found[0]


def read_journeys(ledger: Ledger, task_ids: Sequence[str]) -> list[Journey]:
    """Read several journeys at once, in their order; unknown ids are left out."""
    known = [
        (one, records)
        for one, records in zip(task_ids, ledger.records(task_ids), strict=True)
        if records.keys() & {"task", "dead"}
    ]
    journeys = [_put_together(one, records) for one, records in known]
    messages = {one: str((records.get("task") or {}).get("id", one)) for one, records in known}
    # What comes after the answer may wait, too, such as for the model that grades.
    open_ = {
        one.task_id: messages[one.task_id] if one.state == "queued" else str(derived_id(one.task_id, NEXT[one.state]))
        for one in journeys
        if one.state == "queued" or (one.state in NEXT and not one.ended)
    }
    parked = ledger.parked.of(list(open_.values()))
    return [one.model_copy(update={"waits": parked.get(open_.get(one.task_id, ""))}) for one in journeys]


def _put_together(task_id: str, records: Record) -> Journey:
    dead = DeadLetter.model_validate(records["dead"]) if "dead" in records else None
    entry = records.get("task") or {}
    body = entry.get("body")
    begun = begun_with(entry.get("task"), entry.get("stage"), body)
    question, answer = _record(QUESTION, records), _record(ANSWER, records)
    score, settlement = _graded(records)
    lesson = _record(LEARN, records)
    cancelled = Cancellation.model_validate(records["cancelled"]) if "cancelled" in records else None
    hops = ended_at(records)
    state: State = "queued"
    for reached, name in (
        (question, "asked"),
        (answer, "answered"),
        (score, "graded"),
        (cancelled, "cancelled"),
        (settlement, "settled"),
        # What comes after its settlement, such as its lesson, may be given up: that changes nothing of it.
        (dead and (dead.entry.decides or settlement is None), "dead"),
    ):
        state = name if reached else state  # type: ignore[assignment]
    return Journey(
        task_id=task_id,
        what=begun.what,
        state=state,
        agent=begun.agent or str(entry.get("queue", "")),
        pool=begun.pool,
        kind=begun.kind,
        prompt=question.question if question else begun.prompt,
        submitter=begun.submitter,
        submitted=records.get("submitted", dead.died if dead else 0),
        answer=answer.answer if answer else begun.answer,
        model=answer.model if answer else question.model if question else begun.model,
        memories=answer.memories if answer else begun.memories,
        withheld=answer.withheld if answer else None,
        quoted=answer.quoted if answer else None,
        recall_id=begun.recall_id,
        feedback={UUID(name.split()[1]): told for name, told in records.items() if name.startswith("feedback ")},
        opinion=Opinion.model_validate(records["opinion"]) if "opinion" in records else None,
        retriever_version=answer.retriever_version if answer else None,
        usage=answer.usage if answer else question.usage if question else None,
        seconds=answer.seconds if answer else question.seconds if question else None,
        reasoning=answer.reasoning if answer else "",
        notes=answer.notes if answer else (),
        steps=answer.steps if answer else (),
        verified=answer.verified if answer else None,
        score=score,
        memory_id=settlement.memory_id if settlement else None,
        outcome=settlement.outcome if settlement else None,
        reason=settlement.reason if settlement else None,
        parts=settlement.parts if settlement else {},
        part_of=begun.part_of,
        trial=begun.trial,
        lesson=lesson,
        compared=_record(COMPARE, records) or (lesson.compared if lesson else None),
        extracted=_record(EXTRACT, records),
        noted=_record(NOTE_CONCEPTS, records),
        cancelled=cancelled,
        dead=dead,
        hops=hops,
        details_dropped=not hops and any((question, answer, score, settlement)),
    )


def kept_for(days: float) -> str:
    """So many days, in words."""
    return "a day" if days == 1 else f"{days:g} days"


def asked_of(step: Step) -> str:
    """The arguments of a step of a run that say something, as `name: value`."""
    try:
        arguments = json.loads(step.arguments)
    except ValueError:
        return step.arguments  # they were cut
    if not isinstance(arguments, dict):
        return step.arguments
    told = {name: _told(value) for name, value in arguments.items()}
    return ", ".join(f"{name}: {value}" for name, value in told.items() if value)


def _record(hop: Hop[Any, R], records: Record) -> R | None:
    return hop.record.model_validate(records[hop.name]) if hop.name in records else None


def _graded(records: Record) -> tuple[Score | None, Settlement | None]:
    """The score, and what became of the pair; where there was no model to grade it, the scorer settled it."""
    told, settled = records.get(SCORE.name), records.get(SETTLE.name)
    if told is not None and "outcome" in told:
        return None, Settlement.model_validate(told)
    score = Score.model_validate(told) if told is not None else None
    return score, Settlement.model_validate(settled) if settled is not None else None


def _told(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {inner}" for name, inner in value.items() if inner)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
