"""A task that was submitted, and its answer once there is one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import redis
from celery import Celery
from celery.exceptions import TimeoutError as CeleryTimeoutError
from celery.states import EXCEPTION_STATES, PENDING, READY_STATES, REVOKED

from memshare_broker.connection import reaching
from memshare_broker.errors import GiveUp

LOOKED_AT = 500  # tasks in one request
LOOK_AGAIN = 1.0  # seconds; news can get lost with its connection, so an answer is looked for without news too


class Submission:
    """The id of a task, and a way to wait for its answer. Safe to share between threads.

    Celery's own result listens on one connection that all threads share, which breaks when two use it at once. Here
    everybody who waits has a connection of their own.
    """

    def __init__(self, task_id: str, app: Celery, client: redis.Redis, patient: redis.Redis, url: str) -> None:
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
        """Whether the task was answered or given up."""
        return self.state in READY_STATES

    def get(self, timeout: float | None = None) -> dict[str, Any]:
        """The answer, as a dictionary; waits for it up to `timeout` seconds, or for as long as it takes.

        Raises Celery's `TimeoutError` when there is none by then, the error of a task that was given up, and
        `Unreachable`.
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
                    raise CeleryTimeoutError(f"Task {self.id} has no answer yet.")
                news.get_message(timeout=min(left, LOOK_AGAIN))
        return meta

    def _meta(self, client: redis.Redis) -> dict[str, Any]:
        """What Celery keeps of the task: its `status`, and its `result`, which is an exception where it failed."""
        text = client.get(self._key)
        return dict(self._decode(text)) if text else {"status": PENDING}


def ended(app: Celery, client: redis.Redis, task_ids: Sequence[str]) -> list[str]:
    """Those of these tasks that were answered or given up."""
    backend: Any = app.backend  # the stubs know of no keys
    found = []
    for start in range(0, len(task_ids), LOOKED_AT):
        some = task_ids[start : start + LOOKED_AT]
        texts = client.mget([backend.get_key_for_task(one) for one in some])
        states = [backend.decode_result(text)["status"] if text else PENDING for text in texts]
        found += [one for one, state in zip(some, states, strict=True) if state in READY_STATES]
    return found
