"""For clients of the queues: messages are handed in, their answers waited for, and journeys cancelled."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, Literal

import redis
from celery.exceptions import TimeoutError as CeleryTimeoutError
from celery.states import EXCEPTION_STATES, FAILURE, PENDING, READY_STATES, REVOKED, SUCCESS

from memshare_broker.app import App
from memshare_broker.connection import reaching
from memshare_broker.delivery.hops import ANSWER, HOPS, NextMessage
from memshare_broker.delivery.journey_records import read_records
from memshare_broker.delivery.ledger import Ledger, revoked
from memshare_broker.delivery.publish import outgoing, tell_sent
from memshare_broker.delivery.schema import MESSAGES
from memshare_broker.delivery.sweeper import ParkedMessages
from memshare_broker.errors import GiveUp
from memshare_broker.wire.messages import Cancellation
from memshare_broker.wire.signing import Signer

LOOKED_AT = 500  # tasks in one request
LOOK_AGAIN = 1.0  # seconds; news can get lost with its connection, so an answer is looked for without news too


def hand_in(
    app: App, ledger: Ledger, message: NextMessage, signer: Callable[[], Signer], limit: int, *, keep: bool = False
) -> bool:
    """Open and publish a message in one step; False where it is open or has ended. `limit` and `keep` as in `open`.

    What not everybody may send is signed. Raises `QueueFull`, what `signer` raises, and `ValidationError` for a
    priority out of range.
    """
    entry = message.entry()
    if not (message.hop.from_outside and entry.id == entry.journey):
        entry = entry.signed(signer())
    sent = ledger.open(entry, limit, keep=keep, push=outgoing(app, entry))
    if sent:
        tell_sent(app, entry)
    return sent


class NoAnswerYet(CeleryTimeoutError):
    """The time is over, and the task has no answer; it goes on."""


class Submission:
    """The id of a task, and a way to wait for its answer. Safe to share between threads.

    Celery's own result listens on one connection that all threads share, which breaks when two use it at once. Here
    everybody who waits has a connection of their own.
    """

    def __init__(self, task_id: str, app: App, client: redis.Redis, patient: redis.Redis, url: str) -> None:
        self.id = task_id
        backend: Any = app.backend  # the stubs know of no keys
        self._key = backend.get_key_for_task(task_id)
        self._decode = backend.decode_result
        self._client = client
        self._patient = patient  # it waits through a short outage
        self._url = url

    def __repr__(self) -> str:
        return f"Submission({self.id!r})"

    @property
    def state(self) -> str:
        """Celery's word for where the task is, such as PENDING, SUCCESS or FAILURE."""
        with reaching(self._url):
            return str(self._meta(self._client)["status"])

    def ready(self) -> bool:
        """True if the task was answered or given up."""
        return self.state in READY_STATES

    def failed(self) -> bool:
        """True if the task was given up or cancelled."""
        return self.state in EXCEPTION_STATES

    def get(self, timeout: float | None = None) -> dict[str, Any]:
        """The answer, as a dictionary; waits for it up to `timeout` seconds, or for as long as it takes.

        Raises `NoAnswerYet`, a `TimeoutError` of Celery's, when there is none by then, the error of a task that was
        given up, and `Unreachable`.
        """
        deadline = time.monotonic() + timeout if timeout is not None else float("inf")
        with reaching(self._url):
            meta = self._meta(self._client)
            if meta["status"] not in READY_STATES:
                meta = self._wait(deadline)
        if meta["status"] == REVOKED:
            raise GiveUp(f"It was cancelled: {meta['result']}")
        if meta["status"] in EXCEPTION_STATES:
            raise meta["result"]
        return dict(meta["result"])

    async def aget(self, timeout: float | None = None) -> dict[str, Any]:
        """`get`, awaited: it waits in a thread."""
        return await asyncio.to_thread(self.get, timeout)

    def _wait(self, deadline: float) -> dict[str, Any]:
        with closing(self._patient.pubsub()) as news:  # type: ignore[no-untyped-call]
            # The first news is that Redis has heard of the subscription: from then on none is missed.
            news.subscribe(self._key)
            while (meta := self._meta(self._patient))["status"] not in READY_STATES:
                left = deadline - time.monotonic()
                if left <= 0:
                    waits = ParkedMessages(self._patient).why(self.id)
                    why = f"It waits: {waits.why}" if waits else "It is in its queue, or a worker is at it."
                    later = f"`memshare result {self.id}` reads it later; `memshare status` says who is there."
                    raise NoAnswerYet(f"Task {self.id} has no answer yet. {why} {later}")
                news.get_message(timeout=min(left, LOOK_AGAIN))
        return meta

    def _meta(self, client: redis.Redis) -> dict[str, Any]:
        """The task in Celery's form: its `status`, and its `result`, which is an exception where it failed.

        Celery's own record goes with the details of the trace; then the journey says the same.
        """
        text = client.get(self._key)
        return dict(self._decode(text)) if text else recorded(client, self.id)


def recorded(client: redis.Redis, task_id: str) -> dict[str, Any]:
    """The state of a task according to its journey, in Celery's form."""
    is_open = client.hexists(MESSAGES, task_id)  # asked first: an answer that comes meanwhile is then in the records
    [records] = read_records(client, [task_id])
    if ANSWER.name in records:
        return {"status": SUCCESS, "result": records[ANSWER.name]}
    if "dead" in records:
        return {"status": FAILURE, "result": GiveUp(records["dead"]["error"])}
    if "cancelled" in records and not is_open:
        return {"status": REVOKED, "result": records["cancelled"]["why"]}
    return {"status": PENDING}


def ended(app: App, client: redis.Redis, task_ids: Sequence[str]) -> list[str]:
    """The given ids of tasks that were answered or given up."""
    backend: Any = app.backend  # the stubs know of no keys
    found = []
    for start in range(0, len(task_ids), LOOKED_AT):
        some = task_ids[start : start + LOOKED_AT]
        texts = client.mget([backend.get_key_for_task(task) for task in some])
        known = zip(some, texts, strict=True)
        states = [(backend.decode_result(text) if text else recorded(client, task))["status"] for task, text in known]
        found += [task for task, state in zip(some, states, strict=True) if state in READY_STATES]
    return found


Cancelling = Literal["cancelled", "running", "ended", "unknown"]
"""Outcome of cancelling: "running" is a stage that goes on, after which nothing follows."""


def cancel_journey(ledger: Ledger, app: App, journey: str, why: str) -> Cancelling:
    """End the journey of a task, wherever its message is: in a queue, beside it, or at a worker."""
    messages = list(dict.fromkeys(hop.id_in(journey) for hop in HOPS))
    done: set[str] = set()
    for _ in messages:  # a stage may end while it is looked at, and another begin: at most so many
        reached = {
            entry.id: ledger.cancel(
                entry, Cancellation(at=time.time(), why=why), revoked(app, entry.id, why) if entry.has_result else None
            )
            for entry in ledger.open_of(messages)
            if entry.journey == journey
        }
        done.update(reached.values())
        if "ended" not in reached.values():
            break
    if "running" in done:
        return "running"
    if "cancelled" in done:
        return "cancelled"
    return "ended" if ledger.journey(journey) else "unknown"
