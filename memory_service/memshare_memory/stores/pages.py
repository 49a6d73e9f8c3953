"""Whole stores, read a page at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Protocol, TypeVar
from uuid import UUID

from memshare_memory.memory import Memory
from memshare_memory.stores.store import Store, Where

_PAGE = 200


class Paged(Protocol):
    """Any page, which says where the next one starts, if there is one."""

    @property
    def after(self) -> UUID | None: ...


P = TypeVar("P", bound=Paged)


def every(store: Store, where: Where) -> Iterator[Memory]:
    """All memories that are meant, in the order of their ids."""
    return (memory for page in pages(lambda after: store.page(where, _PAGE, after)) for memory in page.memories)


def by_ids(store: Store, ids: Collection[UUID]) -> dict[UUID, Memory]:
    """Those of some memories that there are, in the order of their ids."""
    found = store.page(Where(ids=list(ids)), len(ids)).memories if ids else []
    return {memory.id: memory for memory in found}


def pages(fetch: Callable[[UUID | None], P]) -> Iterator[P]:
    """All pages, of which `fetch` gives the one that begins with an id, or the first."""
    page = fetch(None)
    yield page
    while page.after is not None:
        page = fetch(page.after)
        yield page
