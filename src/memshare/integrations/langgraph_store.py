"""The shared memory as a store of LangGraph."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from langgraph.store.base import BaseStore, GetOp, Item, ListNamespacesOp, Op, PutOp, Result, SearchItem, SearchOp

from memshare import BadInput, NotFound
from memshare.client.rest.memory import Memory
from memshare_memory.memory import Memory as Kept

MOST = 20  # items that a search finds
KEY = "key "  # the kind of what was put begins with it


class MemoryStore(BaseStore):
    """Items of a pool: the namespace is (pool,), the key is the one given to `put`, or the id of any other memory.

    A value of "prompt" and "answer" is a memory as agents share it; any other is kept as JSON. What is put is trusted
    as it is, which takes the right `curate`; to have an answer graded, offer it (`sharing_nodes`). A search with a
    query recalls: what proved poor is left out.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do operations one after the other."""
        return [self._do(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same, beside the event loop."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _do(self, op: Op) -> Result:
        match op:
            case GetOp():
                kept = self._find(_pool(op.namespace), op.key)
                return None if kept is None else Item(**_item(kept))
            case PutOp():
                self._put(_pool(op.namespace), op.key, op.value)
                return None
            case SearchOp():
                return self._search(op)
            case ListNamespacesOp() if not op.match_conditions:
                pools: list[tuple[str, ...]] = [(pool.name,) for pool in self._memory.pools()]
                return pools[op.offset : op.offset + op.limit]
        raise BadInput("Namespaces are pools, without levels: list them without a prefix or a suffix.")

    def _find(self, pool: str, key: str) -> Kept | None:
        found = self._memory.memories.page(pool=pool, kind=KEY + key, limit=1).memories
        if found:
            return found[0]
        try:
            kept = self._memory.memories.get(key).memory
        except (NotFound, BadInput):  # no id, or none of a memory
            return None
        return kept if kept.pool == pool else None

    def _put(self, pool: str, key: str, value: Mapping[str, Any] | None) -> None:
        kept = self._find(pool, key)
        if kept is not None and _value(kept) == value:
            return
        if kept is not None:
            self._memory.memories.forget(kept.id)
        if value is None:
            return
        said = value if _is_pair(value) else {"answer": json.dumps(dict(value), ensure_ascii=False, sort_keys=True)}
        added = self._memory.memories.add(pool=pool, kind=KEY + key, new_pool=True, **said).memory
        if added.kind != KEY + key:
            raise BadInput(
                f"The memory {added.id} of the pool {pool!r} says the same: that is one memory, with one key."
            )

    def _search(self, op: SearchOp) -> list[SearchItem]:
        pool, wanted, asked = _pool(op.namespace_prefix), op.offset + op.limit, op.filter or {}
        if wanted > MOST or any(isinstance(one, dict) for one in asked.values()):
            raise BadInput(f"A search finds {MOST} items at most, offset included, by values that are equal.")
        found: list[tuple[Kept, float | None]]
        if op.query is None:
            found = [(one, None) for one in self._memory.memories.page(pool=pool, limit=MOST).memories]
        else:
            recalled = self._memory.recall(op.query, pool=pool, k=MOST).memories
            found = [(self._memory.memories.get(one.id).memory, one.similarity) for one in recalled]
        items = [SearchItem(**_item(kept), score=score) for kept, score in found]
        return [one for one in items if asked.items() <= one.value.items()][op.offset : wanted]


def _pool(namespace: tuple[str, ...]) -> str:
    if len(namespace) != 1:
        raise BadInput(f"Expected a namespace of one name, a pool, such as ('logic',); found {namespace!r}.")
    return namespace[0]


def _is_pair(value: Mapping[str, Any]) -> bool:
    return value.keys() == {"prompt", "answer"} and all(isinstance(one, str) for one in value.values())


def _value(kept: Kept) -> dict[str, Any]:
    if kept.prompt is not None:
        return {"prompt": kept.prompt, "answer": kept.answer}
    if not (kept.kind or "").startswith(KEY):  # a statement that somebody wrote
        return {"answer": kept.answer}
    return dict(json.loads(kept.answer))


def _item(kept: Kept) -> dict[str, Any]:
    made = datetime.fromtimestamp(kept.created, UTC)
    key = kept.kind.removeprefix(KEY) if kept.kind and kept.kind.startswith(KEY) else str(kept.id)
    return {"namespace": (kept.pool,), "key": key, "value": _value(kept), "created_at": made, "updated_at": made}
