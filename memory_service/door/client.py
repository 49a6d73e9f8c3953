"""Asks the memory service: what every other part knows of the pool, it knows by this."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar
from uuid import UUID

import httpcore2
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from memshare.broker.errors import BadInput, GiveUp, TryAgain
from memshare.broker.settings import Settings
from memshare.broker.time_limit import CallsInTime
from memshare.broker.wire.messages import Embedding
from memshare.broker.wire.whole_characters import refuse_half_characters
from memshare.memory_service.curate.answers import ForgetPreview, Purged, Restored, TrashPage
from memshare.memory_service.curate.requests import (
    ConflictDecision,
    Edit,
    Forget,
    NewMemory,
    RestoreForgotten,
    TrashRequest,
)
from memshare.memory_service.door import methods
from memshare.memory_service.door.address import socket_of
from memshare.memory_service.door.messages import (
    EmbedRequest,
    Found,
    JudgedMemory,
    MemoryPage,
    PageRequest,
    RawMemories,
    RawRequest,
    RecallRequest,
    Recollection,
    Refusal,
    SearchRequest,
    Stats,
)
from memshare.memory_service.door.methods import Method
from memshare.memory_service.memory import Memory
from memshare.memory_service.stores.store import Order, Where

CONNECT_WITHIN = 5.0  # seconds
KEEP_IDLE = 30.0  # seconds
POLL = 0.1  # seconds
BATCH = 256  # memories sent at once
LARGEST_REPLY = 256 * 2**20  # bytes

Request = TypeVar("Request")
Reply = TypeVar("Reply")


class MemoryClient:
    """A connection to the memory service, made when it is first used. Safe to share between threads.

    Every method raises `TryAgain` where the service is away, slow, or breaks off, and `BadInput` or `GiveUp` for what
    it refuses.
    """

    def __init__(self, settings: Settings) -> None:
        socket = None if settings.memory_url else socket_of(settings.data)
        self._place = settings.memory_url or f"the socket {str(socket)!r}"
        self._address = (settings.memory_url or "http://memory").rstrip("/")
        self._headers = [("Content-Type", "application/json")]
        if settings.memory_token is not None:
            self._headers.append(("Authorization", f"Bearer {settings.memory_token.get_secret_value()}"))
        self._network = CallsInTime()
        self._pool = httpcore2.ConnectionPool(
            uds=str(socket) if socket else None,
            max_connections=settings.concurrency + 8,
            keepalive_expiry=KEEP_IDLE,
            network_backend=self._network,
        )

    def recall(self, request: RecallRequest) -> Recollection:
        """The memories that may be shown with a task, best first."""
        return self._ask(methods.RECALL, request)

    def embed(self, text: str) -> Embedding:
        """The vector of a text, by the encoder in use."""
        return self._ask(methods.EMBED, EmbedRequest(text=text))

    def search(self, request: SearchRequest) -> tuple[Found, ...]:
        """The memories nearest to a text, whatever has become of them."""
        return self._ask(methods.SEARCH, request)

    def page(self, where: Where, limit: int = 200, after: UUID | None = None) -> MemoryPage:
        """Some memories in the order of their ids."""
        return self._ask(methods.PAGE, PageRequest(where=where, limit=limit, after=after))

    def first(self, where: Where, order: Order, limit: int) -> tuple[Memory, ...]:
        """The first memories in an order; those without a score stand below all others."""
        return self._ask(methods.PAGE, PageRequest(where=where, limit=limit, order=order)).memories

    def every(self, where: Where) -> Iterator[Memory]:
        """All memories that are meant, in the order of their ids, page by page."""
        page = self.page(where)
        yield from page.memories
        while page.after is not None:
            page = self.page(where, after=page.after)
            yield from page.memories

    def raw(self, request: RawRequest) -> RawMemories:
        """Some of what lies in the store, readable or not."""
        return self._ask(methods.RAW, request)

    def drop_damaged(self, ids: Sequence[UUID]) -> list[UUID]:
        """Remove what cannot be read; returns what was removed, which leaves out every memory that can be read."""
        return [one for batch in _batches(ids) for one in self._ask(methods.DROP_DAMAGED, batch)]

    def stats(self, timeout: float | None = None) -> Stats:
        """How many memories there are."""
        return self._ask(replace(methods.STATS, seconds=timeout) if timeout else methods.STATS, None)

    def get(self, memory_id: UUID) -> Memory:
        """One memory; raises `BadInput` for an unknown id."""
        return self._ask(methods.GET, memory_id)

    def add(self, memories: Sequence[NewMemory]) -> list[UUID]:
        """Bring memories in; the same again is the same memory, and keeps its history."""
        return [one for batch in _batches(memories) for one in self._ask(methods.ADD, batch)]

    def restore(self, memories: Sequence[Memory]) -> list[UUID]:
        """Write memories as they are, such as exported ones."""
        return [one for batch in _batches(memories) for one in self._ask(methods.RESTORE, batch)]

    def edit(self, edit: Edit) -> Memory:
        """Change a memory in its place; returns it as it is now."""
        return self._ask(methods.EDIT, edit)

    def forget_preview(self, forget: Forget) -> ForgetPreview:
        """What `forget` or `purge` would take, and nothing is done."""
        return self._ask(methods.FORGET_PREVIEW, forget)

    def forget(self, forget: Forget) -> list[UUID]:
        """Take memories out of the pool, into the trash; returns the ids of those taken."""
        return self._ask(methods.FORGET, forget)

    def trash(self, request: TrashRequest) -> TrashPage:
        """What is in the trash, the last one forgotten first."""
        return self._ask(methods.TRASH, request)

    def restore_forgotten(self, request: RestoreForgotten) -> Restored:
        """Take memories back out of the trash, as they were."""
        return self._ask(methods.RESTORE_FORGOTTEN, request)

    def purge(self, forget: Forget) -> Purged:
        """Remove memories for good, from the pool, the trash, and all that Redis tells of them."""
        return self._ask(methods.PURGE, forget)

    def judge(self, ids: Sequence[UUID]) -> list[JudgedMemory]:
        """Memories with their credibility and what contradicts them; unknown ids are left out."""
        wanted = list(dict.fromkeys(ids))
        return [one for batch in _batches(wanted) for one in self._ask(methods.JUDGE, batch)]

    def judge_one(self, memory_id: UUID) -> JudgedMemory:
        """One memory with its credibility; raises `BadInput` for an unknown id."""
        found = self.judge([memory_id])
        if not found:
            raise BadInput(f"No memory has the id {str(memory_id)!r}. `memshare memories list` shows them.")
        return found[0]

    def conflicts(self, pool: str) -> list[tuple[UUID, UUID]]:
        """Every two memories of a pool that contradict each other."""
        return self._ask(methods.CONFLICTS, pool)

    def decide(self, decision: ConflictDecision) -> None:
        """Say of two memories whether they contradict each other; no model's word undoes it."""
        self._ask(methods.DECIDE, decision)

    def wait_until_ready(self, seconds: float) -> None:
        """Return when the service answers; raises `TryAgain` where it does not within so many seconds."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                self.stats()
                return
            except TryAgain:
                if time.monotonic() > deadline:
                    raise
                time.sleep(POLL)

    def close(self) -> None:
        self._pool.close()

    def _ask(self, method: Method[Request, Reply], request: Request) -> Reply:
        try:
            content = method.takes.dump_json(request)
        except PydanticSerializationError as error:
            refuse_half_characters(method.takes.dump_python(request), "The request")
            raise BadInput(f"The request cannot be sent: {error}.") from error
        status, body = self._send(method, content)
        try:
            if status == 200:
                return method.gives.validate_json(body)
            refusal = Refusal.model_validate_json(body)
        except ValidationError as error:
            raise TryAgain(
                f"What answers at {self._place} is no memory service of this version.", reason="store"
            ) from error
        if refusal.kind == "try again":
            raise TryAgain(refusal.error, wait=refusal.wait, reason="store")
        raise BadInput(refusal.error) if refusal.kind == "bad input" else GiveUp(refusal.error, "store")

    def _send(self, method: Method[Any, Any], content: bytes) -> tuple[int, bytes]:
        """One request. A connection that was kept may have been closed meanwhile: then who only reads asks again."""
        self._network.start(method.seconds)
        for is_last in (False, True) if method.reads else (True,):
            try:
                return self._send_once(method, content)
            except (httpcore2.ReadError, httpcore2.WriteError, httpcore2.RemoteProtocolError) as error:
                if is_last:
                    raise TryAgain(
                        f"The memory service at {self._place} broke off: {error}.", reason="store"
                    ) from error
            except httpcore2.ConnectError as error:
                raise TryAgain(
                    f"The memory service does not answer at {self._place}. Start `memshare up`, or `memshare worker"
                    " memory`; on another machine, set MEMSHARE_MEMORY_URL.",
                    reason="store",
                ) from error
            except httpcore2.TimeoutException as error:
                raise TryAgain(
                    f"The memory service at {self._place} did not answer within {method.seconds:.0f} s.", reason="store"
                ) from error
        raise AssertionError

    def _send_once(self, method: Method[Any, Any], content: bytes) -> tuple[int, bytes]:
        seconds = method.seconds
        timeout = {"connect": min(CONNECT_WITHIN, seconds), "pool": seconds}
        with self._pool.stream(
            "POST",
            f"{self._address}/{method.name}",
            headers=self._headers,
            content=content,
            extensions={"timeout": timeout},
        ) as response:
            body = bytearray()
            for part in response.iter_stream():
                body += part
                if len(body) > LARGEST_REPLY:
                    raise TryAgain(f"What answers at {self._place} does not end.", reason="store")
            return response.status, bytes(body)


def _batches(items: Sequence[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(items), BATCH):
        yield list(items[start : start + BATCH])
