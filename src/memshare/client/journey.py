"""The journey of one task, or of one standard answer, as the command line shows it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from pydantic import ValidationError

from memshare.client.rest.calls.journeys import JourneyFields, State, What
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
from memshare_broker.delivery.journey_records import ALSO_HID, DECIDED, OPINION, ended_at
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.errors import BadInput
from memshare_broker.settings import OFFLINE
from memshare_broker.wire.grades import OfferedPair, QuestionTask, Score, Settlement
from memshare_broker.wire.lessons import NotedConcepts
from memshare_broker.wire.messages import AgentTask, Cancellation, Parked, Record, Shown, Step, derived_id


class Begun(NamedTuple):
    """Beginning of a journey. Where a foreign client sent something other than a task, its dead letter says more."""

    prompt: str
    what: What = "task"
    submitter: str = "unknown"
    kind: str | None = None
    remember: bool | None = None
    answer: str | None = None
    agent: str | None = None
    pool: str | None = None
    model: str | None = None
    memories: tuple[Shown, ...] = ()
    recall_id: UUID | None = None
    part_of: str | None = None
    trial: str | None = None


GRADED_ALONE: Mapping[str, What] = {"seed": "seed", "regrade": "re-grading"}
"""Pairs whose journey begins with the grade, and that are no sub-question's → what it is."""


def begun_with(task: object, stage: object, body: object) -> Begun:
    """The beginning of a journey, from the message that began it: its task, stage and body."""
    try:
        if task == OFFER.task:
            offered = OfferedPair.model_validate(body)
            told = {name: one for name, one in offered if name in Begun._fields}
            return Begun(memories=offered.shown, **told)
        if stage == QUESTION.name:
            wanted = QuestionTask.model_validate(body)
            return Begun("", "standard answer", wanted.submitter, wanted.kind, answer=wanted.answer)
        if stage == SCORE.name:
            pair = SCORE.read(body)
            told = {name: one for name, one in pair if name in Begun._fields and name not in ("what", "remember")}
            shown = tuple(one for one in pair.shown if one.share != 0)
            return Begun(what=GRADED_ALONE.get(pair.what, "task"), memories=shown, **told)
        asked = AgentTask.model_validate(body)
        return Begun(asked.text, "task", asked.submitter, asked.kind, asked.remember)
    except ValidationError:
        return Begun(str(body))


NEXT: Mapping[State, str] = {"asked": SCORE.name, "answered": SCORE.name, "graded": SETTLE.name}
"""The hop that is to come, in which a journey of that state is."""


class Journey(JourneyFields):
    """A task so far: every field of a hop is None until that hop is done.

    `pool` is that of a pair that somebody brought; that of any other is its agent's.
    """

    task_id: str
    noted: NotedConcepts | None
    """Result of writing its concepts to the memory."""
    message: str | None = None
    """The id of the message that it is in, while it goes on."""
    waits: Parked | None = None
    """Why it waits beside its queue, and until when."""
    cancelled: Cancellation | None
    """When and why it was ended before it was through."""
    dead: DeadLetter | None

    @property
    def total(self) -> float:
        """Its score, 0 to 100; 0 of one that was not graded."""
        return self.score.total if self.score else 0.0

    @property
    def graded_at(self) -> float:
        """When it was graded, as Unix time in seconds; where that is not known any more, when it was submitted."""
        return self.hops.get(SCORE.name, self.submitted)

    @property
    def ended(self) -> bool:
        """True if nothing more becomes of the task: it was settled, cancelled or given up, not verified, or a trial.

        The lesson of a settled pair may still come.
        """
        if self.state in ("unanswered", "cancelled", "settled", "dead"):
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
    ids = [(one, open_.get(one.task_id)) for one in journeys]
    return [one.model_copy(update={"message": id_, "waits": parked.get(id_ or "")}) for one, id_ in ids]


NOTHING_YET: dict[str, Any] = dict.fromkeys(JourneyFields.model_fields) | {
    "reasoning": "", "notes": (), "steps": (), "parts": {},
}  # fmt: skip


def _put_together(task_id: str, records: Record) -> Journey:
    dead = DeadLetter.model_validate(records["dead"]) if "dead" in records else None
    entry = records.get("task") or {}
    body = entry.get("body")
    begun = begun_with(entry.get("task"), entry.get("stage"), body)
    question, answer = _record(QUESTION, records), _record(ANSWER, records)
    score, settlement = _graded(records)
    lesson = _record(LEARN, records)
    hops = ended_at(records)
    state: State = "queued"
    for reached, name in (
        (question, "asked"),
        (answer, "answered"),
        (answer and answer.model == OFFLINE and answer.verified is False, "unanswered"),
        (score, "graded"),
        ("cancelled" in records, "cancelled"),
        (settlement, "settled"),
        # What comes after its settlement, such as its lesson, may be given up: that changes nothing of it.
        (dead and (dead.entry.decides or settlement is None), "dead"),
    ):
        state = name if reached else state  # type: ignore[assignment]
    told = NOTHING_YET | begun._asdict()
    for part in (question, answer, settlement):
        told |= {name: value for name, value in part or () if name in NOTHING_YET and name not in ("agent", "kind")}
    told |= {
        "task_id": task_id,
        "state": state,
        "agent": begun.agent or str(entry.get("queue", "")),
        "prompt": question.question if question else begun.prompt,
        "submitted": records.get("submitted", dead.died if dead else 0),
        "feedback": {name.split()[1]: worth for name, worth in records.items() if name.startswith("feedback ")},
        "opinion": records.get(OPINION),
        "also_hid": records.get(ALSO_HID, ()),
        "decided": records.get(DECIDED),
        "score": score,
        "accepted": score and score.accepted,
        "lesson": lesson,
        "compared": _record(COMPARE, records) or (lesson.compared if lesson else None),
        "extracted": _record(EXTRACT, records),
        "noted": _record(NOTE_CONCEPTS, records),
        "cancelled": records.get("cancelled"),
        "dead": dead,
        "hops": hops,
        "details_dropped": not hops and any((question, answer, score, settlement)),
    }
    return Journey.model_validate(told)


def kept_for(days: float) -> str:
    """So many days, in words."""
    return "a day" if days == 1 else f"{days:g} days"


def outcome_of(journey: Journey) -> tuple[str, str]:
    """The score and what became of a question, in words."""
    score = f"{journey.score.total:.1f}" if journey.score else "–"
    if journey.dead is not None:
        return score, f"given up: {journey.dead.error}"
    if journey.verified is False:
        return score, "not verified, and so not graded"
    return score, journey.outcome or journey.state


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
