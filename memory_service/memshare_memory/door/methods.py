"""The methods of the door: what each takes and gives, known to the server and to the client."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar
from uuid import UUID

from pydantic import TypeAdapter

from memshare_broker.wire.messages import Embedding
from memshare_memory.curate.requests import (
    ConflictDecision,
    Edit,
    Forget,
    NewMemory,
    RestoreForgotten,
    TrashRequest,
)
from memshare_memory.door.messages import (
    EmbedRequest,
    Found,
    JudgedMemory,
    MemoryPage,
    PageRequest,
    RawMemories,
    RawRequest,
    RecallRequest,
    Recollection,
    SearchRequest,
    Stats,
)
from memshare_memory.forget.answers import FilesRewritten, ForgetPreview, Purged, Restored, TrashPage
from memshare_memory.memory import Memory
from memshare_memory.recall.conflicts import Conflict

LARGEST_BODY = 64 * 2**20  # bytes

Request = TypeVar("Request")
Reply = TypeVar("Reply")


@dataclass(frozen=True)
class Method(Generic[Request, Reply]):
    """One thing that can be asked of the memory service: POST /NAME with JSON, answered with JSON.

    One that only reads may be asked again when the connection breaks.
    """

    name: str
    request: Any
    """The type of the request, and of the reply: such as `list[UUID]`."""
    reply: Any
    reads: bool = True
    seconds: float = 30.0
    """How long a client waits for the answer."""

    @cached_property
    def takes(self) -> TypeAdapter[Request]:
        return TypeAdapter(self.request)

    @cached_property
    def gives(self) -> TypeAdapter[Reply]:
        return TypeAdapter(self.reply)


RECALL: Method[RecallRequest, Recollection] = Method("recall", RecallRequest, Recollection)
EMBED: Method[EmbedRequest, Embedding] = Method("embed", EmbedRequest, Embedding)
EMBED_EACH: Method[list[str], list[Embedding]] = Method("embed_each", list[str], list[Embedding])
VECTORS: Method[list[UUID], dict[UUID, Embedding]] = Method("vectors", list[UUID], dict[UUID, Embedding])
SEARCH: Method[SearchRequest, tuple[Found, ...]] = Method("search", SearchRequest, tuple[Found, ...])
PAGE: Method[PageRequest, MemoryPage] = Method("page", PageRequest, MemoryPage)
RAW: Method[RawRequest, RawMemories] = Method("raw", RawRequest, RawMemories, seconds=120.0)
DROP_DAMAGED: Method[list[UUID], list[UUID]] = Method("drop_damaged", list[UUID], list[UUID], reads=False)
STATS: Method[None, Stats] = Method("stats", None, Stats)
GET: Method[UUID, Memory] = Method("get", UUID, Memory)
ADD: Method[list[NewMemory], list[UUID]] = Method("add", list[NewMemory], list[UUID], reads=False, seconds=300.0)
RESTORE: Method[list[Memory], list[UUID]] = Method("restore", list[Memory], list[UUID], reads=False, seconds=300.0)
EDIT: Method[Edit, Memory] = Method("edit", Edit, Memory, reads=False)
FORGET_PREVIEW: Method[Forget, ForgetPreview] = Method("forget_preview", Forget, ForgetPreview, seconds=300.0)
FORGET: Method[Forget, list[UUID]] = Method("forget", Forget, list[UUID], reads=False, seconds=300.0)
TRASH: Method[TrashRequest, TrashPage] = Method("trash", TrashRequest, TrashPage)
RESTORE_FORGOTTEN: Method[RestoreForgotten, Restored] = Method(
    "restore_forgotten", RestoreForgotten, Restored, reads=False, seconds=300.0
)
PURGE: Method[Forget, Purged] = Method("purge", Forget, Purged, reads=False, seconds=300.0)
REWRITE: Method[None, FilesRewritten] = Method("rewrite", None, FilesRewritten, seconds=900.0)
JUDGE: Method[list[UUID], list[JudgedMemory]] = Method("judge", list[UUID], list[JudgedMemory])
CONFLICTS: Method[str, list[Conflict]] = Method("conflicts", str, list[Conflict])
DECIDE: Method[ConflictDecision, None] = Method("decide", ConflictDecision, None, reads=False)

METHODS: tuple[Method[Any, Any], ...] = (
    RECALL, EMBED, EMBED_EACH, VECTORS, SEARCH, PAGE, RAW, DROP_DAMAGED, STATS, GET, ADD, RESTORE, EDIT,
    FORGET_PREVIEW, FORGET, TRASH, RESTORE_FORGOTTEN, PURGE, REWRITE, JUDGE, CONFLICTS, DECIDE,
)  # fmt: skip
