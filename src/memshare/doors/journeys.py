"""Journeys: what became of a task or of a pair, read at once or followed to its end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from starlette.concurrency import run_in_threadpool

from memshare.client.errors import NotFound
from memshare.client.journey import Journey
from memshare.client.replies import Cancelled, JourneyReply
from memshare.doors.audit import audit
from memshare.doors.backend import Backend
from memshare.doors.caller import Caller
from memshare_broker.errors import BadInput

LONGEST_WAIT = 60.0  # seconds that a request may wait
FIRST_LOOK, LAST_LOOK = 0.05, 0.5  # seconds between two looks, which grow


def own_journey(backend: Backend, caller: Caller, journey_id: str) -> JourneyReply:
    """What became of it so far.

    Seen are a caller's own, and by who curates all of its pools. Raises `NotFound` for any other id.
    """
    try:
        journey = backend.client.journey(journey_id)
    except BadInput as error:
        raise _unknown(journey_id) from error
    pool = journey.pool or backend.pool_of(journey.agent)
    if not caller.sees(pool) or not (journey.submitter == caller.name or caller.may("curate")):
        raise _unknown(journey_id)
    return _reply(journey, pool)


async def follow(backend: Backend, caller: Caller, journey_id: str, seconds: float) -> AsyncIterator[JourneyReply]:
    """What became of it so far, and again at each change, until it has ended or so many seconds are over."""
    deadline, pause = time.monotonic() + seconds, FIRST_LOOK
    last = None
    while True:
        journey = await run_in_threadpool(own_journey, backend, caller, journey_id)
        if journey != last:
            last, pause = journey, FIRST_LOOK
            yield journey
        left = deadline - time.monotonic()
        if journey.ended or left <= 0:
            return
        await asyncio.sleep(min(pause, left))
        pause = min(pause * 1.5, LAST_LOOK)


async def wait_for_end(backend: Backend, caller: Caller, journey_id: str, seconds: float) -> JourneyReply:
    """The journey once it has ended, or as it is after so many seconds."""
    return [one async for one in follow(backend, caller, journey_id, seconds)][-1]


def cancel(backend: Backend, caller: Caller, journey_id: str) -> Cancelled:
    """Cancel an unfinished journey; says what became of that."""
    caller.require("submit")
    own_journey(backend, caller, journey_id)
    outcome = backend.client.cancel(journey_id)
    audit(caller, "cancel", journey=journey_id, outcome=outcome)
    return Cancelled(id=journey_id, outcome=outcome)


def _unknown(journey_id: str) -> NotFound:
    return NotFound(f"No journey of yours has the id {journey_id!r}. They are kept for some days only.")


def _reply(journey: Journey, pool: str | None) -> JourneyReply:
    same = JourneyReply.model_fields.keys() & Journey.model_fields.keys() - {"pool", "waits", "cancelled"}
    return JourneyReply(
        **{name: getattr(journey, name) for name in same},
        id=journey.task_id,
        ended=journey.ended,
        pool=pool,
        waits=journey.waits.why if journey.waits else None,
        cancelled=journey.cancelled.why if journey.cancelled else None,
        error=journey.dead.error if journey.dead else None,
    )
