"""Memories page by page, as the memory service hands them out, and which pools there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from memshare.broker.errors import BadInput
from memshare.client import Client

PAGE = 200


def all_memories(client: Client, where: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The memories that fulfil every condition of `where`, in the order of their ids."""
    after = None
    while True:
        page = client.ask_memory("page", where=where, limit=PAGE, after=after)
        yield from page["memories"]
        after = page["after"]
        if after is None:
            return


def with_standing(client: Client, memories: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The memories with their `credibility` (p and credits) and their `conflicts`; those that are gone are left out."""
    ids = list(dict.fromkeys(memory["id"] for memory in memories))
    found = [
        one
        for start in range(0, len(ids), PAGE)
        for one in client.ask_memory("standing", memories=ids[start : start + PAGE])
    ]
    return [one["memory"] | {"credibility": one["credibility"], "conflicts": one["conflicts"]} for one in found]


def credibility_of(memory: dict[str, Any]) -> str:
    """The p of a memory that `with_standing` gave, as people see it."""
    return f"{memory['credibility']['p']:.2f}"


def require_pool(client: Client, pool: str | None) -> None:
    """Raises `BadInput` for a pool that no agent has and no memory is in; None names no pool, and is right."""
    if pool is None:
        return
    known = {card.pool for card in client.agents().values()}
    if pool not in known:
        known |= set(client.ask_memory("stats")["by_pool"])
    if pool not in known:
        raise BadInput(f"No pool is called {pool!r}. There are: {', '.join(sorted(known))}.")
