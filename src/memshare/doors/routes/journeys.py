"""Journeys: read, waited for, followed by server-sent events, or ended."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent

from memshare.client.replies import Cancelled, JourneyReply
from memshare.doors.authentication import BackendNow, CallerNow
from memshare.doors.journeys import LONGEST_WAIT, cancel, follow, own_journey, wait_for_end
from memshare.doors.problems import RESPONSES

LONGEST_STREAM = 300.0  # seconds; who follows asks again then, with a token that is good still

router = APIRouter(tags=["journeys"], responses=RESPONSES)

JourneyId = Annotated[str, Path(min_length=1, max_length=200, description="what a task or a pair was answered with")]
Wait = Annotated[
    float, Query(ge=0, le=LONGEST_WAIT, description="seconds to wait for its end; it is answered as it is then")
]


@router.get("/journeys/{journey_id}")
async def get_journey(journey_id: JourneyId, backend: BackendNow, caller: CallerNow, wait: Wait = 0) -> JourneyReply:
    """What became of a task or of a pair so far."""
    return await wait_for_end(backend, caller, journey_id, wait)


def _seen(journey_id: JourneyId, backend: BackendNow, caller: CallerNow) -> JourneyReply:
    """The journey as it is now: who may not see it is told before a stream begins."""
    return own_journey(backend, caller, journey_id)


@router.get("/journeys/{journey_id}/events", response_class=EventSourceResponse)
async def get_events(
    journey_id: JourneyId, backend: BackendNow, caller: CallerNow, _: Annotated[JourneyReply, Depends(_seen)]
) -> AsyncIterator[ServerSentEvent]:
    """The journey at each of its changes, as server-sent events named by its state, until it has ended."""
    async for journey in follow(backend, caller, journey_id, LONGEST_STREAM):
        yield ServerSentEvent(data=journey.model_dump(mode="json"), event=journey.state)


@router.delete("/journeys/{journey_id}")
def delete_journey(journey_id: JourneyId, backend: BackendNow, caller: CallerNow) -> Cancelled:
    """Cancel an unfinished journey."""
    return cancel(backend, caller, journey_id)
