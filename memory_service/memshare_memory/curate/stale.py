"""Stale memories: what was written from a statement that says something else by now, or that is gone.

They are not shown until they were graded again, or a person kept them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from uuid import UUID

from memshare_memory.memory import Memory
from memshare_memory.recall.recall import Recall, sparse_of
from memshare_memory.stores.pages import every
from memshare_memory.stores.store import Store, Vectors, Where

PAGE = 256  # memories whose children are looked for at once


def children_of(store: Store, parents: Collection[UUID]) -> dict[UUID, Memory]:
    """The memories that were shown at least one of these."""
    wanted = sorted(parents)
    parts = [wanted[start : start + PAGE] for start in range(0, len(wanted), PAGE)]
    return {memory.id: memory for part in parts for memory in every(store, Where(parents=part))}


def derived_from(store: Store, statements: Iterable[Memory]) -> list[Memory]:
    """What was written from some statements and is shown, directly or by others; of any other memory nothing is."""
    fresh = {memory.id for memory in statements if memory.is_statement and not memory.is_passage}
    found: dict[UUID, Memory] = {}
    while fresh:
        children = children_of(store, fresh)
        fresh = children.keys() - found.keys()
        found |= children
    return [memory for memory in found.values() if memory.status == "active"]


def make_stale(recall: Recall, memories: Iterable[Memory]) -> None:
    """Mark memories as stale."""
    _write(recall, [memory.model_copy(update={"status": "stale"}) for memory in memories])


def no_longer_stale(recall: Recall, ids: Collection[UUID]) -> None:
    """Let those memories that are still stale be active again."""
    found = recall.store.page(Where(ids=sorted(ids), status="stale"), len(ids)).memories if ids else []
    _write(recall, [memory.model_copy(update={"status": "active"}) for memory in found])


def _write(recall: Recall, memories: list[Memory]) -> None:
    vectors = recall.store.dense_of([memory.id for memory in memories]) if memories else {}
    recall.store.put(
        [(one, Vectors(vectors[one.id], sparse_of(one))) for one in memories if one.id in vectors], in_place=True
    )
