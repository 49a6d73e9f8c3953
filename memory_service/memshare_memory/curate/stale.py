"""Stale memories: what was written from a statement that says something else by now, is gone, or was found wrong.

They are not shown until they were graded again, or a person kept them.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from uuid import UUID

from memshare_memory.memory import Became, Cause, Memory
from memshare_memory.recall.recall import Recall, sparse_of
from memshare_memory.stores.store import Store, Vectors, Where, every

PAGE = 256  # memories whose children are looked for at once


def children_of(store: Store, parents: Collection[UUID]) -> dict[UUID, Memory]:
    """The memories that were shown at least one of these."""
    wanted = sorted(parents)
    parts = [wanted[start : start + PAGE] for start in range(0, len(wanted), PAGE)]
    return {memory.id: memory for part in parts for memory in every(store, Where(parents=part))}


def derived_from(store: Store, statement: Memory) -> list[Memory]:
    """What was written from a statement, directly or by others, without it; of any other memory nothing is."""
    fresh = {statement.id} if statement.is_statement and not statement.is_passage else set()
    found: dict[UUID, Memory] = {}
    while fresh:
        children = children_of(store, fresh)
        fresh = children.keys() - found.keys()
        found |= children
    return [memory for memory in found.values() if memory.id != statement.id]


def stale_once(store: Store, statement: Memory, became: Became) -> list[Memory]:
    """What is stale once this has become of a statement, as it is then; without what was so because of it already.

    One that is stale, and nobody knows why, stays so whatever is undone.
    """
    cause = Cause(memory=statement.id, became=became, at=time.time())
    found = []
    for one in derived_from(store, statement):
        causes = one.because if one.status == "stale" else ()
        is_so_already = any((each.memory, each.became) == (statement.id, became) for each in causes)
        if one.status == "active" or (causes and not is_so_already):
            found.append(one.model_copy(update={"status": "stale", "because": (*causes, cause)}))
    return found


def make_stale(recall: Recall, memories: Iterable[Memory]) -> None:
    """Write what `stale_once` found of some statements; what was written from several is stale because of each."""
    merged: dict[UUID, Memory] = {}
    for one in memories:
        causes = (*merged[one.id].because, *one.because) if one.id in merged else one.because
        merged[one.id] = one.model_copy(update={"because": tuple(dict.fromkeys(causes))})
    _write(recall, list(merged.values()))


def no_longer_stale(recall: Recall, ids: Collection[UUID], of: Collection[UUID], became: Became) -> None:
    """Let those memories that are stale because this became `of` statements, and of nothing else, be active again."""
    found = recall.store.page(Where(ids=sorted(ids), status="stale"), len(ids)).memories if ids else []
    changed = []
    for one in found:
        left = tuple(cause for cause in one.because if cause.memory not in of or cause.became != became)
        if left != one.because:
            changed.append(one.model_copy(update={"status": "stale" if left else "active", "because": left}))
    _write(recall, changed)


def _write(recall: Recall, memories: list[Memory]) -> None:
    vectors = recall.store.dense_of([memory.id for memory in memories]) if memories else {}
    recall.store.put(
        [(one, Vectors(vectors[one.id], sparse_of(one))) for one in memories if one.id in vectors], in_place=True
    )
