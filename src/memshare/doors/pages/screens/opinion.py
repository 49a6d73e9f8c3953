"""What a person says of an answer, right or wrong, and what can be done about a wrong one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from memshare.client.errors import Forbidden, NotFound
from memshare.client.rest.calls.journeys import JourneyReply
from memshare.doors.calls.feedback import give_feedback
from memshare.doors.calls.memories import get
from memshare.doors.forms import FeedbackForm
from memshare.doors.pages.screens.memories_shown import MemoryShown
from memshare.doors.pages.visit import PAGES, Done, Visit
from memshare_broker.errors import TryAgain
from memshare_broker.wire.checking import checked

REWARDS = {"right": 1.0, "wrong": 0.0}


@dataclass(frozen=True)
class Kept:
    """Whether the memory that was kept from an answer is there, and whether it was forgotten since."""

    is_there: bool = False
    is_forgotten: bool = False


@dataclass(frozen=True)
class OpinionShown:
    """What was said, by whom, and of which of the memories shown it was told."""

    by: str
    is_wrong: bool
    told: Sequence[MemoryShown]
    has_pairs: bool
    """Whether some of them are prompts with answers, of which the retriever learns."""
    speaks_of_own: bool
    """Whether a memory of their own was among them."""


@PAGES.action("/journeys/{id}/feedback")
def say(visit: Visit) -> Done:
    """Tell that the answer of a journey is right or wrong, as feedback on all that it was shown."""
    journey = visit.path["id"]
    reward = REWARDS.get(visit.field("answer"))
    give_feedback(visit.backend, visit.caller, checked(FeedbackForm, "The feedback", journey=journey, reward=reward))
    return Done(f"/journeys/{quote(journey, safe='')}#opinion")


def may_say(visit: Visit, journey: JourneyReply) -> bool:
    """Whether the caller may still say something of the answer; a recall is told of by whoever made it alone."""
    is_own = journey.recall_id is None or journey.submitter == visit.caller.name
    there = journey.answer is not None and journey.ended and journey.pool is not None and journey.trial is None
    return there and is_own and journey.opinion is None and journey.what == "task" and visit.caller.may("offer")


def opinion_shown(visit: Visit, journey: JourneyReply, memories: Sequence[MemoryShown]) -> OpinionShown | None:
    """What was said of the answer; None where nobody has said anything yet."""
    if journey.opinion is None:
        return None
    by, wrong = journey.opinion.by, journey.opinion.is_wrong
    told = [one for one in memories if one.feedback is not None and (one.feedback < 0.5) == wrong]
    there = [one.found for one in told if one.found is not None]
    return OpinionShown(
        by="You" if by == visit.caller.name else by,
        is_wrong=wrong,
        told=told,
        has_pairs=any(not one.memory.is_statement for one in there),
        speaks_of_own=any(one.memory.submitter == by for one in there),
    )


def kept(visit: Visit, journey: JourneyReply) -> Kept:
    """What became of the memory that a journey names."""
    if journey.memory_id is None:
        return Kept()
    try:
        get(visit.backend, visit.caller, journey.memory_id)
    except NotFound:
        return Kept(is_forgotten=True)
    except (Forbidden, TryAgain):
        return Kept()  # nothing is offered that cannot be done now
    return Kept(is_there=True)
