"""The memory service as others see it: where its door listens, its methods, and the client that asks by them.

Every other part knows of the pool by this. The door is at a Unix socket of the data folder, or at an address.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, cast, overload
from uuid import UUID

import httpcore2
from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from memshare_broker.errors import BadInput, GiveUp, TryAgain, WrongAgain
from memshare_broker.observe import tracing
from memshare_broker.private_files import make_room, socket_path
from memshare_broker.settings import Settings
from memshare_broker.settings_file import RUNNING, is_held
from memshare_broker.time_limit import CallsInTime
from memshare_broker.wire.messages import Embedding
from memshare_broker.wire.same_text import refuse_half_characters
from memshare_memory.contradictions import MemoryConflict
from memshare_memory.curate.requests import (
    ConflictDecision,
    Edit,
    EditedMemory,
    FilesRewritten,
    Forget,
    ForgetPreview,
    NewMemory,
    Purged,
    RestoredMemories,
    RestoreForgotten,
    TrashPage,
    TrashRequest,
)
from memshare_memory.door.messages import (
    CountRequest,
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
from memshare_memory.memory import Memory
from memshare_memory.stores.store import CountKey, Order, Where, pages


def socket_of(data: Path) -> Path:
    return socket_path(data, "memory")


BACKLOG = 2048


def check_door(settings: Settings) -> None:
    """Raise `BadInput` where `listen` would, before the pool is opened, which may take a minute."""
    if settings.memory_listen is not None:
        _listen_at(settings, settings.memory_listen).close()


def listen(settings: Settings) -> socket.socket:
    """The socket that the settings ask for, bound; raises `BadInput` where it cannot be."""
    if settings.memory_listen is None:
        return _listen_at_socket(settings)
    return _listen_at(settings, settings.memory_listen)


def _listen_at(settings: Settings, address: str) -> socket.socket:
    if settings.memory_token is None:
        raise BadInput(
            f"MEMSHARE_MEMORY_LISTEN={address!r} opens the pool to the network, so it needs a token: "
            "set MEMSHARE_MEMORY_TOKEN, here and for every worker and command."
        )
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    try:
        return socket.create_server(
            (host, int(port)), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=BACKLOG
        )
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadInput(f"MEMSHARE_MEMORY_LISTEN={address!r} cannot be listened on: {reason}.") from error


def _listen_at_socket(settings: Settings) -> socket.socket:
    path = socket_of(settings.data)
    make_room(path, settings.data)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # Bound aside and renamed, so that nobody can connect before only its owner can.
    aside = path.with_suffix(f".{os.getpid()}")
    aside.unlink(missing_ok=True)
    listening.bind(str(aside))
    aside.chmod(0o600)
    aside.rename(path)
    listening.listen(BACKLOG)
    return listening


LARGEST_BODY = 64 * 2**20  # bytes

Request = TypeVar("Request")
Reply = TypeVar("Reply")


class Asks(Protocol):
    """Whoever has methods: it asks the memory service by them."""

    def ask(self, method: DoorMethod[Request, Reply], request: Request) -> Reply: ...


class DoorMethod(Generic[Request, Reply]):
    """A method of the memory service: POST /NAME with JSON, answered with JSON.

    It is declared as an attribute of `MemoryClient`, and is called as a method of it with the request.
    """

    name: str

    def __init__(
        self,
        request: Any,
        reply: Any,
        *,
        reads: bool = True,
        seconds: float = 30.0,
        joined: type[list[Any]] | type[dict[Any, Any]] | None = None,
    ) -> None:
        """`request` and `reply` are types, such as `list[UUID]`.

        One that only `reads` may be asked again when the connection breaks; a client waits for so many `seconds`. A
        request of any length goes in parts where it is said to what the replies are `joined`.
        """
        self._types = request, reply
        self.reads, self.seconds, self.joined = reads, seconds, joined

    def __set_name__(self, _owner: type, name: str) -> None:
        self.name = name.removeprefix("_")

    @overload
    def __get__(self, client: None, _owner: type) -> DoorMethod[Request, Reply]: ...
    @overload
    def __get__(self, client: Asks, _owner: type) -> Callable[[Request], Reply]: ...
    def __get__(self, client: Asks | None, _owner: type) -> DoorMethod[Request, Reply] | Callable[[Request], Reply]:
        return self if client is None else partial(client.ask, self)

    @cached_property
    def takes(self) -> TypeAdapter[Request]:
        return TypeAdapter(self._types[0])

    @cached_property
    def gives(self) -> TypeAdapter[Reply]:
        return TypeAdapter(self._types[1])


CONNECT_WITHIN = 5.0  # seconds
KEEP_IDLE = 30.0  # seconds
LARGEST_REPLY = 256 * 2**20  # bytes


class DoorConnection:
    """Connections to the memory service, made when they are first used. Safe to share between threads."""

    def __init__(self, settings: Settings) -> None:
        socket = None if settings.memory_url else socket_of(settings.data)
        self._running, self._exports = settings.data / RUNNING, settings.exports_dir
        self._place = settings.memory_url or f"the socket {str(socket)!r}"
        self._address = (settings.memory_url or "http://memory").rstrip("/")
        self._headers = [("Content-Type", "application/json")]
        if settings.memory_token is not None:
            self._headers.append(("Authorization", f"Bearer {settings.memory_token.get_secret_value()}"))
        self.has_answered = False
        self._network = CallsInTime()
        self._pool = httpcore2.ConnectionPool(
            uds=str(socket) if socket else None,
            max_connections=settings.concurrency + 8,
            keepalive_expiry=KEEP_IDLE,
            network_backend=self._network,
        )

    def close(self) -> None:
        self._pool.close()

    def ask(self, method: DoorMethod[Request, Reply], request: Request, seconds: float) -> Reply:
        """Reply of a method. Raises `TryAgain`, `BadInput` or `GiveUp`, as the service says."""
        try:
            content = method.takes.dump_json(request)
        except PydanticSerializationError as error:
            refuse_half_characters(method.takes.dump_python(request), "The request")
            raise BadInput(f"The request cannot be sent: {error}.") from error
        status, body = self._send(method, content, seconds)
        try:
            if status == 200:
                self.has_answered = True
                return method.gives.validate_json(body)
            refusal = Refusal.model_validate_json(body)
        except ValidationError as error:
            raise TryAgain(
                f"The server at {self._place} is not a memshare memory service of this version.", reason="store"
            ) from error
        if refusal.kind == "try again":
            raise TryAgain(refusal.error, wait=refusal.wait, reason="store")
        if refusal.kind == "give up":
            raise GiveUp(refusal.error, "store")
        raise WrongAgain(refusal.error) if refusal.kind == "wrong again" else BadInput(refusal.error)

    def _send(self, method: DoorMethod[Any, Any], content: bytes, seconds: float) -> tuple[int, bytes]:
        """Send a request. A kept connection may have been closed meanwhile: then it is sent again if it only reads."""
        self._network.start(seconds)
        for is_last in (False, True) if method.reads else (True,):
            try:
                return self._send_once(method.name, content, seconds)
            except (httpcore2.ReadError, httpcore2.WriteError, httpcore2.RemoteProtocolError) as error:
                if is_last:
                    raise TryAgain(
                        f"The memory service at {self._place} broke off: {error}.", reason="store"
                    ) from error
            except httpcore2.ConnectError as error:
                start = "Start `memshare up`, or `memshare worker memory`; on another machine, set MEMSHARE_MEMORY_URL."
                if is_held(self._running):
                    first = "; the first time it exports the encoder, for a minute or so."
                    known = any(self._exports.glob("[!.]*"))
                    start = f"`memshare up` is starting it{', which takes some seconds.' if known else first}"
                raise TryAgain(
                    f"The memory service does not answer at {self._place}. {start}", reason="store"
                ) from error
            except httpcore2.TimeoutException as error:
                raise TryAgain(
                    f"The memory service at {self._place} did not answer within {seconds:.0f} s.", reason="store"
                ) from error
        raise AssertionError

    def _send_once(self, name: str, content: bytes, seconds: float) -> tuple[int, bytes]:
        timeout = {"connect": min(CONNECT_WITHIN, seconds), "pool": seconds}
        with self._pool.stream(
            "POST",
            f"{self._address}/{name}",
            headers=[*self._headers, *tracing.headers().items()],
            content=content,
            extensions={"timeout": timeout},
        ) as response:
            body = bytearray()
            for part in response.iter_stream():
                body += part
                if len(body) > LARGEST_REPLY:
                    raise TryAgain(f"The reply of the server at {self._place} does not end.", reason="store")
            return response.status, bytes(body)


POLL = 0.1  # seconds
BATCH = 256  # sent at once


class MemoryClient:
    """A connection to the memory service, made when it is first used. Safe to share between threads.

    Every method raises `TryAgain` where the service is away, slow, or breaks off, and `BadInput` or `GiveUp` for what
    it refuses.
    """

    _recall = DoorMethod[RecallRequest, Recollection](RecallRequest, Recollection)
    _embed = DoorMethod[EmbedRequest, Embedding](EmbedRequest, Embedding)
    embed_each = DoorMethod[Sequence[str], list[Embedding]](list[str], list[Embedding], joined=list)
    """The vectors of several texts, in their order."""
    vectors = DoorMethod[Sequence[UUID], dict[UUID, Embedding]](list[UUID], dict[UUID, Embedding], joined=dict)
    """The vectors that memories are found by; unknown ids are left out."""
    search = DoorMethod[SearchRequest, tuple[Found, ...]](SearchRequest, tuple[Found, ...])
    """The memories nearest to a text, whatever has become of them."""
    _page = DoorMethod[PageRequest, MemoryPage](PageRequest, MemoryPage)
    _count = DoorMethod[CountRequest, dict[str, dict[str, int]]](CountRequest, dict[str, dict[str, int]])
    raw = DoorMethod[RawRequest, RawMemories](RawRequest, RawMemories, seconds=120.0)
    """Some of what lies in the store, readable or not."""
    drop_damaged = DoorMethod[Sequence[UUID], list[UUID]](list[UUID], list[UUID], reads=False, joined=list)
    """Remove what cannot be read; returns what was removed, which leaves out every memory that can be read."""
    _stats = DoorMethod[None, Stats](None, Stats)
    get = DoorMethod[UUID, Memory](UUID, Memory)
    """A memory by its id; raises `BadInput` for an unknown id."""
    add = DoorMethod[Sequence[NewMemory], list[UUID]](
        list[NewMemory], list[UUID], reads=False, seconds=300.0, joined=list
    )
    """Bring memories in; the same again is the same memory, and keeps its history."""
    restore = DoorMethod[Sequence[Memory], list[UUID]](
        list[Memory], list[UUID], reads=False, seconds=300.0, joined=list
    )
    """Write memories as they are, such as exported ones."""
    edit = DoorMethod[Edit, EditedMemory](Edit, EditedMemory, reads=False)
    """Change a memory in its place; returns it as it is now."""
    forget_preview = DoorMethod[Forget, ForgetPreview](Forget, ForgetPreview, seconds=300.0)
    """Preview of the memories that `forget` or `purge` would take; changes nothing."""
    forget = DoorMethod[Forget, list[UUID]](Forget, list[UUID], reads=False, seconds=300.0)
    """Take memories out of the pool, into the trash; returns the ids of those taken."""
    trash = DoorMethod[TrashRequest, TrashPage](TrashRequest, TrashPage)
    """Memories in the trash, the last one forgotten first."""
    restore_forgotten = DoorMethod[RestoreForgotten, RestoredMemories](
        RestoreForgotten, RestoredMemories, reads=False, seconds=300.0
    )
    """Take memories back out of the trash, as they were."""
    follow_forgotten = DoorMethod[Sequence[UUID], None](list[UUID], None, reads=False, seconds=300.0)
    """Let what was written from memories in the trash be as stale as what was said of these wants it."""
    purge = DoorMethod[Forget, Purged](Forget, Purged, reads=False, seconds=300.0)
    """Remove memories for good, from the pool, the trash, and all that Redis tells of them."""
    _rewrite = DoorMethod[None, FilesRewritten](None, FilesRewritten, seconds=900.0)
    _judge = DoorMethod[Sequence[UUID], list[JudgedMemory]](list[UUID], list[JudgedMemory], joined=list)
    conflicts = DoorMethod[str, list[MemoryConflict]](str, list[MemoryConflict])
    """Every two memories of a pool that contradict each other."""
    decide = DoorMethod[ConflictDecision, None](ConflictDecision, None, reads=False)
    """Say of two memories whether they contradict each other; no model's word undoes it."""

    def __init__(self, settings: Settings) -> None:
        self._connection = DoorConnection(settings)

    def ask(self, method: DoorMethod[Request, Reply], request: Request, *, seconds: float | None = None) -> Reply:
        """Reply of a method, within `seconds` if given, else within the method's own seconds."""
        seconds = seconds or method.seconds
        if method.joined is None:
            return self._connection.ask(method, request, seconds)
        wanted, joined = cast("Sequence[Any]", request), method.joined()
        for start in range(0, len(wanted), BATCH):
            part: Any = self._connection.ask(method, cast("Request", list(wanted[start : start + BATCH])), seconds)
            joined = joined | part if isinstance(joined, dict) else joined + part
        return cast("Reply", joined)

    def recall(self, request: RecallRequest) -> Recollection:
        """The memories that may be shown with a task, best first."""
        about = tracing.retrieval(request.pool, request.k, request.text)
        with tracing.span(f"retrieval {request.pool}", about, client=True):
            recalled = self._recall(request)
            found = ((str(hit.memory.id), hit.similarity, hit.memory.answer) for hit in recalled.found)
            tracing.note(tracing.retrieved(found))
        return recalled

    def embed(self, text: str, asked_by: str | None = None) -> Embedding:
        return self._embed(EmbedRequest(text=text, asked_by=asked_by))

    def page(self, where: Where, limit: int = 200, after: UUID | None = None) -> MemoryPage:
        """Some memories in the order of their ids."""
        return self._page(PageRequest(where=where, limit=limit, after=after))

    def first(self, where: Where, order: Order, limit: int, skip: int | None = None) -> tuple[Memory, ...]:
        """The first memories in an order, or a page of them; those without a score stand below all others."""
        return self._page(PageRequest(where=where, limit=limit, order=order, skip=skip)).memories

    def count(self, where: Where, *by: CountKey) -> dict[str, dict[str, int]]:
        """How many memories are meant, by each of these fields and its values; see `Store.count`."""
        return self._count(CountRequest(where=where, by=by))

    def every(self, where: Where) -> Iterator[Memory]:
        """All memories that are meant, in the order of their ids, page by page."""
        return (memory for page in pages(lambda after: self.page(where, after=after)) for memory in page.memories)

    @property
    def has_answered(self) -> bool:
        """True once the service has answered this client."""
        return self._connection.has_answered

    def stats(self, timeout: float | None = None) -> Stats:
        return self.ask(MemoryClient._stats, None, seconds=timeout)

    def rewrite(self) -> FilesRewritten:
        """Rewrite the files of pool and Redis, which have what was purged until then; returns when that is done."""
        return self._rewrite(None)

    def judge(self, ids: Sequence[UUID]) -> list[JudgedMemory]:
        """Memories with their credibility and what contradicts them; unknown ids are left out."""
        return self._judge(list(dict.fromkeys(ids))) if ids else []

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
        self._connection.close()


METHODS: tuple[DoorMethod[Any, Any], ...] = tuple(
    method for method in vars(MemoryClient).values() if isinstance(method, DoorMethod)
)
