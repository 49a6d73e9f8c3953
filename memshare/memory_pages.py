"""All memories of a kind, page by page, as the memory service hands them out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
