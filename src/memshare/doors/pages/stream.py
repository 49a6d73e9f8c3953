"""The stream of a page: it says when something has changed, and when Redis or the memory service is away."""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager

from starlette.concurrency import run_in_threadpool

from memshare.client.errors import NotFound
from memshare.client.rest.calls.journeys import JourneyReply
from memshare.doors.pages.needs import Count
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller
from memshare.operations.journeys import own_journey
from memshare_broker.connection import DOWN
from memshare_broker.delivery.journey_records import recent
from memshare_broker.errors import MemshareError

LONGEST = 300.0  # seconds; the browser asks again then, with a session that is good still
LOOKS_EVERY = 1.0  # seconds
BEATS_EVERY, LONGEST_BEAT = 3.0, 15.0  # seconds: while tasks are worked off, pages that list them change no more often
SHARE = 0.02  # of the time goes to showing pages, at most, unless the beat would be longer than the longest
SAYS_SOMETHING_EVERY = 15.0  # seconds, so that a connection that is lost is noticed


class Pulse:
    """A signal that changes whenever something happens in the deployment, looked at every few seconds for all pages.

    The more time pages take, the rarer it is looked at: what works off tasks is not to wait for them.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._due = 0.0
        self._spent = 0.0
        self._beat = ""
        self._one_looks = threading.Lock()

    @contextmanager
    def showing(self) -> Iterator[None]:
        """Count the time that a page takes."""
        begun = time.monotonic()
        yield
        self._spent += time.monotonic() - begun

    def beat(self) -> str:
        """A text that is another one after each change; raises `Unreachable`."""
        with self._one_looks:
            now = time.monotonic()
            if now >= self._due:
                ledger = self._backend.client.ledger
                with self._backend.reaching():
                    seen = (
                        ledger.open_messages(),
                        ledger.done(),
                        ledger.failed(),
                        recent(self._backend.redis, 1),
                        sorted(self._backend.client.dead_letters.ids()),
                        [one.node for one in self._backend.client.workers()],
                    )
                self._beat = _digest(repr(seen))
                self._due = now + min(max(BEATS_EVERY, self._spent / SHARE), LONGEST_BEAT)
                self._spent = 0.0
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
    look: Callable[[], str], seen: str, count: Callable[[], Count], is_ending: Callable[[], bool]
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
            now, counted = await run_in_threadpool(lambda: (look(), count()))
        except (MemshareError, *DOWN) as error:
            now, counted = seen, Count(away=str(error))
        is_back = bool(away) and not counted.away
        if is_back:
            events.append(_event("back", "It answers again."))
        elif counted.away != away:
            events.append(_event("away", counted.away))
        if is_back or now != seen:
            events.append(_event("changed", ""))
        if counted.number != inbox and not counted.away:
            inbox = counted.number
            events.append(_event("inbox", "" if inbox is None else str(inbox)))
        away, seen = counted.away, now
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
