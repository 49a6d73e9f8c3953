"""The calls about one journey, dead letter or memory, and those that look for memories."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote
from uuid import UUID

from memshare.client.rest.call import Call
from memshare.client.rest.calls import without_none

if TYPE_CHECKING:
    from memshare.client.replies import (
        Cancelled,
        DeadLetterReply,
        Dropped,
        Forgotten,
        JourneyReply,
        MemoriesReply,
        MemoryReply,
        Retried,
        SearchReply,
    )
    from memshare_memory.memory import Mode, Status


def get_journey(journey_id: str, *, wait: float = 0.0) -> Call[JourneyReply]:
    """What became of a task or of a pair: waits up to `wait` seconds (60 at most) for its end."""
    path = f"/v1/journeys/{quote(journey_id, safe='')}"
    return Call("GET", path, "JourneyReply", query={"wait": wait or None}, waits=wait)


def journey_events(journey_id: str, quiet: float) -> Call[JourneyReply]:
    """The stream of what becomes of it; each event is one reply. `quiet` are the seconds between two words."""
    path = f"/v1/journeys/{quote(journey_id, safe='')}/events"
    return Call("GET", path, "JourneyReply", headers={"Accept": "text/event-stream"}, waits=quiet)


def cancel(journey_id: str) -> Call[Cancelled]:
    """Cancel an unfinished journey."""
    return Call("DELETE", f"/v1/journeys/{quote(journey_id, safe='')}", "Cancelled")


def list_letters() -> Call[list[DeadLetterReply]]:
    """What was given up in your pools, oldest first."""
    return Call("GET", "/v1/dead-letters", "DeadLetterReply", many=True)


def retry(letter_id: str) -> Call[Retried]:
    """Put a message back into its queue, under its old id."""
    return Call("POST", f"/v1/dead-letters/{quote(letter_id, safe='')}/retry", "Retried", repeatable=False)


def drop(letter_id: str) -> Call[Dropped]:
    """Forget a message for good; its journey keeps the reason."""
    return Call("DELETE", f"/v1/dead-letters/{quote(letter_id, safe='')}", "Dropped", repeatable=False)


def search(
    text: str,
    *,
    pool: str | None = None,
    k: int = 10,
    mode: Mode = "dense",
    agent: str | None = None,
    kind: str | None = None,
    submitter: str | None = None,
    status: Status | None = None,
) -> Call[SearchReply]:
    """The memories nearest to a text, whatever has become of them."""
    body = without_none(
        text=text, pool=pool, k=k, mode=mode, agent=agent, kind=kind, submitter=submitter, status=status
    )
    return Call("POST", "/v1/memories/search", "SearchReply", body)


def page(
    *,
    pool: str | None = None,
    agent: str | None = None,
    kind: str | None = None,
    submitter: str | None = None,
    status: Status | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Call[MemoriesReply]:
    """Some memories; `next` of what comes back is the cursor of the next page."""
    query = {"pool": pool, "agent": agent, "kind": kind, "submitter": submitter, "status": status}
    return Call("GET", "/v1/memories", "MemoriesReply", query=query | {"limit": limit, "cursor": cursor})


def get(memory_id: UUID | str) -> Call[MemoryReply]:
    """One memory and what it has been worth."""
    return Call("GET", _place(memory_id), "MemoryReply")


def add(
    answer: str,
    *,
    pool: str,
    prompt: str | None = None,
    agent: str | None = None,
    kind: str | None = None,
    new_pool: bool = False,
) -> Call[MemoryReply]:
    """Bring a memory in, trusted as it is; without a prompt it is a statement. The same again is the same memory."""
    body = without_none(pool=pool, prompt=prompt, answer=answer, agent=agent, kind=kind, new_pool=new_pool)
    return Call("POST", "/v1/memories", "MemoryReply", body)


def edit(
    memory_id: UUID | str,
    version: str,
    *,
    prompt: str | None = None,
    answer: str | None = None,
    status: Status | None = None,
) -> Call[MemoryReply]:
    """Change a memory; `version` is that of `get`, and one that has changed meanwhile is refused with `Stale`."""
    body = without_none(prompt=prompt, answer=answer, status=status)
    headers = {"If-Match": f'"{version}"'}
    return Call("PATCH", _place(memory_id), "MemoryReply", body, headers=headers, repeatable=False)


def forget(memory_id: UUID | str) -> Call[Forgotten]:
    """Forget a memory: it stays in the trash for 30 days."""
    return Call("DELETE", _place(memory_id), "Forgotten", repeatable=False)


def _place(memory_id: UUID | str) -> str:
    return f"/v1/memories/{quote(str(memory_id), safe='')}"
