"""Who was shown a memory, what came of it, and what making the memory took."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from statistics import fmean
from typing import Annotated
from uuid import UUID

from pydantic import Field

from memshare.client.journey import Journey
from memshare.client.rest.calls.journeys import JourneyReply
from memshare.client.rest.calls.memories import Memories, ShownReply, ShownTo
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller
from memshare.operations.journeys import is_seen
from memshare.operations.memories import get
from memshare.operations.serving import serves
from memshare_broker.delivery.hops import ANSWER
from memshare_broker.delivery.journey_records import naming, recent
from memshare_broker.errors import BadInput
from memshare_broker.wire.messages import Shown, Usage
from memshare_memory.admit.crediting import shares_in_common
from memshare_memory.memory import Memory

MOST = 200  # journeys that are read
PROMPT = 300  # characters


@serves(Memories.shown_to)
def shown_to(
    backend: Backend, caller: Caller, memory_id: UUID, limit: Annotated[int, Field(ge=1, le=MOST)] = 50
) -> ShownReply:
    """The journeys that tell of a memory, as far as the caller may see them; raises `NotFound`."""
    memory = get(backend, caller, memory_id).memory
    with backend.reaching():
        latest = recent(backend.redis)
        named = naming(backend.redis, latest, str(memory_id), "task", ANSWER.name)
    journeys = [found for one in named[:MOST] if (found := _seen(backend, caller, one)) is not None]
    told = [one for journey in journeys if (one := _told(journey, memory)) is not None]
    maker = _seen(backend, caller, memory.task_id) if memory.task_id else None
    return ShownReply(
        shown=_mean([one for one in told if not one.withheld]),
        withheld=_mean([one for one in told if one.withheld]),
        journeys=tuple(islice(told, limit)),
        total=len(told),
        looked_at=len(latest),
        cost=_cost(maker) if maker else None,
    )


def _seen(backend: Backend, caller: Caller, journey_id: str) -> Journey | None:
    """A journey; None for one that the caller may not see, or whose records are gone."""
    try:
        journey = backend.client.journey(journey_id)
    except BadInput:
        return None
    return journey if is_seen(backend, caller, journey) else None


def _told(journey: Journey, memory: Memory) -> ShownTo | None:
    """A memory's part in a journey; None where it was not shown, but stands in the records as something else."""
    withheld = journey.withheld is not None and journey.withheld.id == memory.id
    known = journey.withheld if withheld else next((one for one in journey.memories if one.id == memory.id), None)
    if known is None or journey.trial is not None:
        return None
    return ShownTo(
        id=journey.task_id,
        agent=journey.agent,
        submitter=journey.submitter,
        submitted=journey.submitted,
        prompt=journey.prompt[:PROMPT],
        similarity=known.similarity,
        withheld=withheld,
        share=None if withheld else share_of(journey, known, memory),
        feedback=journey.feedback.get(memory.id),
        score=journey.score.total if journey.score else None,
        accepted=journey.score.accepted if journey.score else None,
    )


def share_of(journey: Journey | JourneyReply, shown: Shown, memory: Memory | None) -> float | None:
    """A memory's share in an answer, or how much of what it says stands there; None where that is not known."""
    if shown.share is not None or journey.answer is None or memory is None:
        return shown.share
    return shares_in_common(journey.answer, [memory.answer])[0]


def _mean(told: Sequence[ShownTo]) -> float | None:
    """The mean score of the graded ones."""
    scores = [one.score for one in told if one.score is not None]
    return fmean(scores) if scores else None


def _cost(maker: Journey) -> Usage:
    """The tokens of the journey that made a memory."""
    parts = (maker, maker.score, maker.lesson, maker.extracted)
    return sum((one.usage for one in parts if one is not None and one.usage is not None), Usage())
