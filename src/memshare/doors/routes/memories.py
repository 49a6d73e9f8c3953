"""Memories: search, look through, read, bring in, change and forget them."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Query, Response

from memshare.client.replies import Forgotten, MemoriesReply, MemoryReply, SearchReply
from memshare.doors import memories
from memshare.doors.authentication import BackendNow, CallerNow
from memshare.doors.forms import EditForm, MemoryForm, SearchForm
from memshare.doors.problems import RESPONSES
from memshare_broker.wire.forms import Label
from memshare_memory.memory import Status

router = APIRouter(prefix="/memories", tags=["memories"], responses=RESPONSES)

Matches = Annotated[str | None, Header(alias="If-Match", description="the ETag of the version that the change is for")]


@router.post("/search")
def post_search(form: SearchForm, backend: BackendNow, caller: CallerNow) -> SearchReply:
    """The memories nearest to a text, whatever has become of them."""
    return memories.search(backend, caller, form)


@router.get("")
def get_memories(
    backend: BackendNow,
    caller: CallerNow,
    pool: Label | None = None,
    agent: Label | None = None,
    kind: Label | None = None,
    submitter: Label | None = None,
    status: Status | None = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    cursor: Annotated[UUID | None, Query(description="`next` of the page before")] = None,
) -> MemoriesReply:
    """Memories, a page at a time."""
    return memories.page(
        backend, caller, pool=pool, agent=agent, kind=kind, submitter=submitter, status=status, limit=limit,
        cursor=cursor,
    )  # fmt: skip


@router.post("", status_code=201)
def post_memory(form: MemoryForm, backend: BackendNow, caller: CallerNow, response: Response) -> MemoryReply:
    """Bring a memory in, trusted as it is. The same again is the same memory."""
    return _versioned(memories.add(backend, caller, form), response)


@router.get("/{memory_id}")
def get_memory(memory_id: UUID, backend: BackendNow, caller: CallerNow, response: Response) -> MemoryReply:
    """One memory; its ETag is what a change of it takes."""
    return _versioned(memories.get(backend, caller, memory_id), response)


@router.patch("/{memory_id}")
def patch_memory(
    memory_id: UUID, form: EditForm, backend: BackendNow, caller: CallerNow, response: Response, matches: Matches = None
) -> MemoryReply:
    """Change a memory; one that has changed since you read it is left as it is (412)."""
    version = None if matches is None else matches.strip().strip('"')
    return _versioned(memories.edit(backend, caller, memory_id, form, version), response)


@router.delete("/{memory_id}")
def delete_memory(memory_id: UUID, backend: BackendNow, caller: CallerNow) -> Forgotten:
    """Forget a memory: it stays in the trash for 30 days."""
    return memories.forget(backend, caller, memory_id)


def _versioned(reply: MemoryReply, response: Response) -> MemoryReply:
    response.headers["ETag"] = f'"{reply.version}"'
    return reply
