"""The trash: what was forgotten, listed and brought back."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import Field

from memshare.client.errors import NotFound
from memshare.client.rest.calls.trash import TrashCalls, TrashedMemory, TrashReply
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, audit
from memshare.operations.serving import serves
from memshare_broker.wire.forms import Label
from memshare_memory.curate.requests import RestoreForgotten, TrashRequest
from memshare_memory.forget.answers import RestoredMemories, TrashPage
from memshare_memory.memory import Memory


@serves(TrashCalls.list)
def trash(
    backend: Backend,
    caller: Caller,
    submitter: Label | None = None,
    limit: Annotated[int, Field(ge=1, le=1_000)] = 50,
) -> TrashReply:
    """What was forgotten in the caller's pools."""
    caller.require("curate")
    page = _page(backend, caller, TrashRequest(submitter=submitter, limit=limit))
    memories = [TrashedMemory(memory=one.memory, forgotten=one.forgotten, until=one.until) for one in page.forgotten]
    return TrashReply(total=page.total, memories=tuple(memories))


@serves(TrashCalls.restore)
def restore(backend: Backend, caller: Caller, memory_id: UUID) -> RestoredMemories:
    """Take a memory back out of the trash."""
    caller.require("curate")
    found = find_forgotten(backend, caller, memory_id)
    if found is None:
        raise NotFound(f"The trash has no memory of yours with the id {str(memory_id)!r}.")
    restored = backend.client.memories.restore_forgotten(RestoreForgotten(ids=(memory_id,)))
    audit(caller, "restore", memory_id=memory_id, pool=found.pool)
    return restored


def find_forgotten(backend: Backend, caller: Caller, memory_id: UUID) -> Memory | None:
    """A memory of the caller's pools that lies in the trash; None where it does not."""
    found = _page(backend, caller, TrashRequest(prefix=str(memory_id), limit=1)).forgotten
    return found[0].memory if found else None


def _page(backend: Backend, caller: Caller, request: TrashRequest) -> TrashPage:
    pools = None if caller.pools is None else tuple(sorted(caller.pools))
    return backend.client.memories.trash(request.model_copy(update={"pools": pools}))
