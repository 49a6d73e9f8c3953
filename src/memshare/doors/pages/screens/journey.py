"""One journey: its hops, the memories that were shown and what they did, the grade, what was learnt, and the cost."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from memshare.client.errors import Forbidden, NotFound
from memshare.client.rest.calls.journeys import JourneyReply
from memshare.client.rest.calls.memories import MemoryReply
from memshare.doors.backend import Backend
from memshare.doors.caller import Caller
from memshare.doors.calls.journeys import own_journey
from memshare.doors.calls.memories import get as get_memory
from memshare.doors.pages.stream import state_in
from memshare.doors.pages.visit import PAGES, Screen, Visit
from memshare_broker.delivery.hops import ANSWER, COMPARE, EXTRACT, LEARN, NOTE_CONCEPTS, QUESTION, SCORE, SETTLE
from memshare_broker.errors import TryAgain
from memshare_broker.wire.messages import Shown, Step, Usage
from memshare_memory.admit.following import LEAST_FOLLOWED, shares_in_common

HOPS = {
    QUESTION.name: "question",
    ANSWER.name: "answered",
    SCORE.name: "graded",
    SETTLE.name: "remembered",
    COMPARE.name: "compared",
    LEARN.name: "learnt",
    EXTRACT.name: "concepts",
    NOTE_CONCEPTS.name: "concepts written",
}
"""Stage → what a person reads once it has ended."""
USUAL = (ANSWER.name, SCORE.name, SETTLE.name)
_WORD = re.compile(r"\w{4,}")


@dataclass(frozen=True)
class HopShown:
    """A hop on the line: when it ended, and how many seconds after the one before."""

    name: str
    at: float | None
    after: float | None


@dataclass(frozen=True)
class MemoryShown:
    """A memory that was shown, with what the task and it have in common; `found` is None where it is gone."""

    shown: Shown
    found: MemoryReply | None
    gone: str
    words: tuple[str, ...]
    concepts: tuple[str, ...]
    feedback: float | None
    withheld: bool
    followed: float | None
    """Its share in the answer, or how much of its own answer stands there; None where there is no answer."""


@dataclass(frozen=True)
class StepShown:
    """A step of the reasoning agent, with the steps that it called."""

    step: Step
    asked: str
    steps: tuple[StepShown, ...]


@PAGES.screen("/journeys/{id}")
def journey(visit: Visit) -> Screen:
    """A journey as it is now, and another one beside it where the URL names one."""
    backend, caller = visit.backend, visit.caller
    found = own_journey(backend, caller, visit.path["id"])
    memories = [*_memories(backend, caller, found)]
    beside = visit.field("beside")
    return Screen(
        "journey",
        {
            "journey": found,
            "hops": [*_hops(found)],
            "memories": memories,
            "steps": _tree(found.steps),
            "costs": [*_costs(found)],
            "misled": _misled(found, memories),
            "beside": own_journey(backend, caller, beside) if beside else None,
            "may_submit": caller.may("submit"),
            "may_curate": caller.may("curate"),
            "may_retry": caller.may("admin"),
        },
        watches=found.id,
        seen=state_in(found),
    )


def _hops(journey: JourneyReply) -> Iterator[HopShown]:
    """Those that ended, in their order, and those that are to come while it goes on."""
    yield HopShown("submitted", journey.submitted, None)
    before = journey.submitted
    for name, at in sorted(journey.hops.items(), key=lambda one: one[1]):
        is_kept = name != SETTLE.name or journey.memory_id is not None
        yield HopShown(HOPS.get(name, name) if is_kept else "not remembered", at, max(at - before, 0.0))
        before = at
    if not journey.ended and journey.what == "task":
        yield from (HopShown(HOPS[name], None, None) for name in USUAL if name not in journey.hops)


def _memories(backend: Backend, caller: Caller, journey: JourneyReply) -> Iterator[MemoryShown]:
    own = set(_WORD.findall(journey.prompt.casefold()))
    concepts = _names(journey.extracted.concepts) if journey.extracted else set()
    withheld = [journey.withheld] if journey.withheld else []
    for one in [*journey.memories, *withheld]:
        found, gone = _found(backend, caller, one.id)
        theirs = _WORD.findall((found.memory.prompt or found.memory.answer).casefold()) if found else []
        yield MemoryShown(
            shown=one,
            found=found,
            gone=gone,
            words=tuple(dict.fromkeys(word for word in theirs if word in own)),
            concepts=tuple(sorted(concepts & _names(found.memory.concepts))) if found else (),
            feedback=journey.feedback.get(one.id),
            withheld=one is journey.withheld,
            followed=_share(journey, one, found) if one is not journey.withheld else None,
        )


def _share(journey: JourneyReply, shown: Shown, found: MemoryReply | None) -> float | None:
    if shown.share is not None or journey.answer is None or found is None:
        return shown.share
    return shares_in_common(journey.answer, [found.memory.answer])[0]


def _found(backend: Backend, caller: Caller, memory: UUID) -> tuple[MemoryReply | None, str]:
    try:
        return get_memory(backend, caller, memory), ""
    except NotFound:
        return None, "It was forgotten since."
    except (Forbidden, TryAgain) as error:
        return None, str(error)


def _names(concepts: object) -> set[str]:
    assert isinstance(concepts, dict)
    return {str(name) for names in concepts.values() for name in names}


def _misled(journey: JourneyReply, memories: Sequence[MemoryShown]) -> UUID | None:
    """The memory that a rejected answer followed most."""
    if journey.score is None or journey.score.accepted:
        return None
    there = [one for one in memories if one.found and (one.followed or 0.0) >= LEAST_FOLLOWED]
    return max(there, key=lambda one: one.followed or 0.0).shown.id if there else None


def _tree(steps: Sequence[Step], parent: int | None = None) -> tuple[StepShown, ...]:
    known = {step.number for step in steps}
    return tuple(
        StepShown(step, _asked(step), _tree(steps, step.number))
        for step in steps
        if (step.parent if step.parent in known else None) == parent
    )


def _asked(step: Step) -> str:
    """The arguments that say something, as `name: value`."""
    try:
        arguments = json.loads(step.arguments)
    except ValueError:
        return step.arguments  # they were cut
    if not isinstance(arguments, dict):
        return step.arguments
    return ", ".join(f"{name}: {value}" for name, value in arguments.items() if value)


def _costs(journey: JourneyReply) -> Iterator[tuple[str, str, Usage]]:
    """Hop, model and tokens of each hop that asked a model."""
    if journey.usage and journey.model:
        yield "answer", journey.model, journey.usage
    if journey.score:
        yield "grade", journey.score.model, journey.score.usage
    if journey.lesson and journey.lesson.labelled_by:
        yield "lesson", "", journey.lesson.usage
    if journey.extracted and journey.extracted.model:
        yield "concepts", journey.extracted.model, journey.extracted.usage
