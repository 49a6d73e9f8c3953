"""Answers of the memory service to requests at its door: a function for each method."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any
from uuid import UUID

import numpy as np

from memshare_broker.wire.messages import Embedding
from memshare_memory.curate.curate import Curate
from memshare_memory.curate.forgetting import Forgetting
from memshare_memory.curate.requests import NewMemory
from memshare_memory.door.messages import (
    CountRequest,
    Credibility,
    EmbedRequest,
    Found,
    JudgedMemory,
    MemoryPage,
    PageRequest,
    RawMemories,
    RawMemory,
    RawRequest,
    SearchRequest,
    Stats,
)
from memshare_memory.pool.known_pools import KnownPools
from memshare_memory.recall.recall import Recall
from memshare_memory.stores.bm25 import query
from memshare_memory.stores.points import MASKED, WHOLE, problem
from memshare_memory.stores.store import MOST_ORDERED, RawPoint, Where, by_ids, search_one


class Service:
    """All but `recall`, which is answered in batches (`memshare_memory.door.recalls`)."""

    def __init__(self, pool: Callable[[], Recall], curate: Curate, forgetting: Forgetting, pools: KnownPools) -> None:
        self._pool = pool
        self._curate = curate
        self._forgetting = forgetting
        self.pools = pools

    @property
    def functions(self) -> Mapping[str, Callable[[Any], Any]]:
        """Functions that answer the methods, by method name; each takes the request and returns the reply."""
        curate, forgetting = self._curate, self._forgetting
        return {
            "embed": self._embed,
            "embed_each": self._embed_each,
            "vectors": self._vectors,
            "search": self._search,
            "page": self._page,
            "count": self._count,
            "raw": self._raw,
            "drop_damaged": curate.drop_damaged,
            "stats": self._stats,
            "get": curate.get,
            "add": self._add,
            "restore": curate.restore,
            "edit": curate.edit,
            "forget_preview": forgetting.preview,
            "forget": forgetting.forget,
            "trash": forgetting.trash,
            "restore_forgotten": forgetting.restore,
            "purge": forgetting.purge,
            "rewrite": lambda _: forgetting.rewrite(),
            "judge": self._judge,
            "conflicts": curate.conflicts,
            "decide": curate.decide,
        }

    def _embed(self, request: EmbedRequest) -> Embedding:
        recall = self._pool()
        [vector] = recall.begin(request.text, request.asked_by or "").result()
        return Embedding.pack(recall.encoder_name, vector)

    def _embed_each(self, texts: Sequence[str]) -> list[Embedding]:
        recall = self._pool()
        return [Embedding.pack(recall.encoder_name, vector) for vector in recall.encode(texts)] if texts else []

    def _vectors(self, ids: Sequence[UUID]) -> dict[UUID, Embedding]:
        recall = self._pool()
        return {one: Embedding.pack(recall.encoder_name, vector) for one, vector in recall.store.dense_of(ids).items()}

    def _search(self, request: SearchRequest) -> tuple[Found, ...]:
        recall = self._pool()
        words = query(request.text) if request.mode == "hybrid" else None
        [vector] = recall.begin(request.text, request.asked_by or "").result()
        hits = search_one(recall.store, request.where, request.k, dense=vector, sparse=words)
        return tuple(Found(memory=hit.memory, similarity=hit.similarity) for hit in hits)

    def _page(self, request: PageRequest) -> MemoryPage:
        store = self._pool().store
        if request.order is not None and request.skip is not None:
            ids = store.order_ids(request.where, request.order, MOST_ORDERED)[request.skip :][: request.limit]
            found = by_ids(store, ids)
            return MemoryPage(memories=tuple(found[one] for one in ids if one in found), after=None)
        page = store.page(request.where, request.limit, request.after, order=request.order)
        return MemoryPage(memories=tuple(page.memories), after=page.after)

    def _count(self, request: CountRequest) -> dict[str, dict[str, int]]:
        store = self._pool().store
        return {field: store.count(request.where, field) for field in request.by}

    def _raw(self, request: RawRequest) -> RawMemories:
        recall = self._pool()
        page = recall.store.raw(request.limit, request.after, text_alone=request.only == "digests")
        if request.only == "digests":
            digests, found = {str(point.id): _digest(point) for point in page.points}, []
        else:
            digests, found = {}, [_whole(point, recall.encoder_name) for point in page.points]
        if request.only == "damaged":
            found = [one for one in found if one.problem is not None]
        return RawMemories(
            memories=tuple(found),
            digests=digests,
            seen=len(page.points),
            after=page.after,
            encoder=recall.encoder_name,
        )

    def _stats(self, _: None) -> Stats:
        store = self._pool().store
        by_pool = store.count(Where())
        return Stats(total=sum(by_pool.values()), by_pool=by_pool, unreadable=len(store.unreadable))

    def _add(self, memories: Sequence[NewMemory]) -> list[UUID]:
        self.pools.require({one.pool for one in memories if not one.new_pool})
        return self._curate.add(memories)

    def _judge(self, ids: Sequence[UUID]) -> list[JudgedMemory]:
        judged = self._curate.judge(ids)
        right = sorted({one for *_, rivals in judged for one, said in rivals.items() if said == "wrong"})
        active = self._pool().store.page(Where(ids=right, status="active"), len(right)).memories if right else []
        shown = {memory.id for memory in active}
        return [
            JudgedMemory(
                memory=memory,
                credibility=Credibility(**known._asdict()),
                conflicts=tuple(rivals),
                lost_to=tuple(one for one, said in rivals.items() if said == "wrong" and one in shown),
                won_over=tuple(one for one, said in rivals.items() if said == "right"),
            )
            for memory, known, rivals in judged
        ]


def _whole(point: RawPoint, encoder: str) -> RawMemory:
    wrong = problem(point)
    dense = point.dense if point.dense is not None and np.isfinite(point.dense).all() else None
    return RawMemory(
        id=point.id,
        digest=_digest(point),
        text=None if wrong else point.payload[WHOLE],
        dense=None if dense is None else Embedding.pack(encoder, dense),
        masked=None if wrong else point.payload.get(MASKED),
        fields=_plain(point.payload) if wrong else None,
        problem=wrong,
    )


def _digest(point: RawPoint) -> str:
    return blake2b(str(point.payload.get(WHOLE)).encode(errors="surrogatepass"), digest_size=16).hexdigest()


def _plain(payload: dict[str, Any]) -> dict[str, Any]:
    """A payload as JSON takes it, whatever is in it."""
    plain: dict[str, Any] = json.loads(json.dumps(payload, default=str), parse_constant=str)
    return plain
