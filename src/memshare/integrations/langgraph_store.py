"""The shared memory as a store of LangGraph."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any
from uuid import UUID

from langgraph.store.base import BaseStore, GetOp, Item, ListNamespacesOp, Op, PutOp, Result, SearchItem, SearchOp

from memshare import BadInput, NotFound
from memshare.client.replies import RecalledMemory
from memshare.client.rest.task import Memory
from memshare_broker.wire.messages import MAX_MEMORIES
from memshare_memory.memory import FLOOR
from memshare_memory.memory import Memory as Kept

PAGE = 500
KEY = "key "  # the kind of what was put begins with it

Listed = Kept | RecalledMemory


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
                return Item(**_item(kept[0].pool, kept[0])) if kept else None
            case PutOp():
                self._put(_pool(op.namespace), op.key, op.value)
                return None
            case SearchOp():
                return self._search(op)
            case ListNamespacesOp() if not op.match_conditions:
                pools: list[tuple[str, ...]] = [(pool.name,) for pool in self._memory.pools()]
                return pools[op.offset : op.offset + op.limit]
        raise BadInput("Namespaces are pools, without levels: list them without a prefix or a suffix.")

    def _find(self, pool: str, key: str) -> Sequence[Kept]:
        """The memories that have a key, the newest first: one, unless a put was broken off."""
        if not key.strip():
            raise BadInput("Expected a key, found an empty text.")
        found = self._memory.memories.page(pool=pool, kind=KEY + key, order="created").memories
        if found:
            return found
        try:
            kept = self._memory.memories.get(UUID(key)).memory
        except (NotFound, ValueError):  # none of a memory, or no id
            return ()
        return [kept] if kept.pool == pool else ()

    def _put(self, pool: str, key: str, value: Mapping[str, Any] | None) -> None:
        before, added = self._find(pool, key), None
        if value is not None:
            if before and _json(_value(before[0])) == _json(value):
                return
            said = value if _is_pair(value) else {"answer": _json(value)}
            added = self._memory.memories.add(pool=pool, kind=KEY + key, new_pool=True, **said).memory
            if added.kind != KEY + key:
                raise BadInput(f"The memory {added.id} says the same: that is one memory, with one key.")
        for one in before:
            if added is None or one.id != added.id:
                self._memory.memories.forget(one.id)

    def _search(self, op: SearchOp) -> list[SearchItem]:
        pool, wanted, asked = _pool(op.namespace_prefix), op.offset + op.limit, op.filter or {}
        if any(isinstance(one, dict) for one in asked.values()):
            raise BadInput("A filter compares values that are equal: leave out operators and dictionaries.")
        if op.query and not asked and wanted > MAX_MEMORIES:
            raise BadInput(f"A search by a query finds {MAX_MEMORIES} items at most, offset included.")
        found = self._nearest(pool, op.query, beyond=bool(asked)) if op.query else self._all(pool)
        items = (SearchItem(**_item(pool, one), score=score) for one, score in found)
        return list(islice((one for one in items if asked.items() <= one.value.items()), op.offset, wanted))

    def _all(self, pool: str, **conditions: Any) -> Iterator[tuple[Listed, float | None]]:
        page = self._memory.memories.page(pool=pool, limit=PAGE, **conditions)
        yield from ((one, None) for one in page.memories)
        while page.next is not None:
            page = self._memory.memories.page(pool=pool, limit=PAGE, cursor=page.next, **conditions)
            yield from ((one, None) for one in page.memories)

    def _nearest(self, pool: str, query: str, *, beyond: bool) -> Iterator[tuple[Listed, float | None]]:
        """The memories recalled for a query, the nearest first; with `beyond`, others follow in no order."""
        if not self._memory.memories.page(pool=pool, limit=1).memories:
            return  # a recall refuses pools that nobody has
        found = self._memory.recall(query, pool=pool, k=MAX_MEMORIES).memories
        yield from ((one, one.similarity) for one in found)
        if beyond:
            ids = {one.id for one in found}
            rest = self._all(pool, status="active", credibility_from=FLOOR)
            yield from (one for one in rest if one[0].id not in ids)


def _pool(namespace: tuple[str, ...]) -> str:
    if len(namespace) != 1:
        raise BadInput(f"Expected a namespace of one name, a pool, such as ('logic',); found {namespace!r}.")
    return namespace[0]


def _is_pair(value: Mapping[str, Any]) -> bool:
    return value.keys() == {"prompt", "answer"} and all(isinstance(one, str) for one in value.values())


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(dict(value), ensure_ascii=False, sort_keys=True)


def _value(kept: Listed) -> dict[str, Any]:
    if kept.prompt is not None:
        return {"prompt": kept.prompt, "answer": kept.answer}
    if not (kept.kind or "").startswith(KEY):  # a statement that somebody wrote
        return {"answer": kept.answer}
    return dict(json.loads(kept.answer))


def _item(pool: str, kept: Listed) -> dict[str, Any]:
    made = datetime.fromtimestamp(kept.created, UTC)
    key = kept.kind.removeprefix(KEY) if kept.kind and kept.kind.startswith(KEY) else str(kept.id)
    return {"namespace": (pool,), "key": key, "value": _value(kept), "created_at": made, "updated_at": made}
