"""The stream of a page: it says when something has changed, and when Redis or the memory service is away."""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from collections.abc import AsyncIterator, Callable

from starlette.concurrency import run_in_threadpool

from memshare.client.errors import NotFound
from memshare.client.rest.calls.journeys import JourneyReply
from memshare.doors.backend import Backend
from memshare.doors.caller import Caller
from memshare.doors.calls.journeys import own_journey
from memshare_broker.connection import DOWN
from memshare_broker.delivery.keys import RECENT
from memshare_broker.errors import MemshareError

LONGEST = 300.0  # seconds; the browser asks again then, with a session that is good still
LOOKS_EVERY = 1.0  # seconds
BEATS_EVERY = 3.0  # seconds: while tasks are worked off, pages that list them change no more often
SAYS_SOMETHING_EVERY = 15.0  # seconds, so that a connection that is lost is noticed


class Pulse:
    """What changes whenever something happens in the deployment; looked at every few seconds for all pages."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._looked = -BEATS_EVERY
        self._beat = ""
        self._one_looks = threading.Lock()

    def beat(self) -> str:
        """A text that is another one after each change; raises `Unreachable`."""
        with self._one_looks:
            if time.monotonic() - self._looked >= BEATS_EVERY:
                ledger = self._backend.client.ledger
                with self._backend.reaching():
                    seen = (
                        ledger.open_messages(),
                        ledger.done(),
                        ledger.failed(),
                        self._backend.redis.zrange(RECENT, -1, -1),
                        sorted(self._backend.client.dead_letters.ids()),
                        [one.node for one in self._backend.client.workers()],
                    )
                self._beat = _digest(repr(seen))
                self._looked = time.monotonic()
            return self._beat


def state_of(backend: Backend, caller: Caller, journey: str) -> str:
    """A text that is another one as soon as anything becomes of a journey."""
    try:
        return state_in(own_journey(backend, caller, journey))
    except NotFound:
        return ""


def state_in(journey: JourneyReply) -> str:
    """The same of what is known of the journey already."""
    return _digest(journey.model_dump_json())


async def changes(
    look: Callable[[], str], seen: str, count: Callable[[], int | None], is_ending: Callable[[], bool]
) -> AsyncIterator[str]:
    """The events of a page: `changed` whenever `look` sees something else than the page has `seen`, `inbox` with the
    number of what needs a person, `away` with the reason while something does not answer, and `back` when it does
    again."""
    begun = said = time.monotonic()
    inbox: int | None = None
    away = ""
    yield "retry: 1000\n\n"
    while time.monotonic() - begun < LONGEST and not is_ending():
        events = []
        try:
            now, number = await run_in_threadpool(lambda: (look(), count()))
        except (MemshareError, *DOWN) as error:
            if str(error) != away:
                away = str(error)
                events.append(_event("away", away))
        else:
            if away:
                away = ""
                events += [_event("back", "It answers again."), _event("changed", "")]
            elif now != seen:
                events.append(_event("changed", ""))
            if number != inbox:
                inbox = number
                events.append(_event("inbox", "" if number is None else str(number)))
            seen = now
        if not events and time.monotonic() - said > SAYS_SOMETHING_EVERY:
            events.append(": still here\n\n")
        for event in events:
            said = time.monotonic()
            yield event
        await asyncio.sleep(LOOKS_EVERY)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


def _event(name: str, data: str) -> str:
    return f"event: {name}\ndata: {' '.join(data.split())}\n\n"
