"""What the memory service does for those who ask at its door; each method takes and gives what travels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

from memshare_broker.wire.messages import Embedding
from memshare_memory.curate.curate import Curate
from memshare_memory.curate.forgetting import Forgetting
from memshare_memory.curate.requests import (
    ConflictDecision,
    Edit,
    Forget,
    NewMemory,
    RestoreForgotten,
    TrashRequest,
)
from memshare_memory.door.messages import (
    Credibility,
    EmbedRequest,
    Found,
    JudgedMemory,
    MemoryPage,
    PageRequest,
    RawMemories,
    RawRequest,
    SearchRequest,
    Stats,
)
from memshare_memory.door.raw import raw_memories
from memshare_memory.forget.answers import FilesRewritten, ForgetPreview, Purged, Restored, TrashPage
from memshare_memory.memory import Memory
from memshare_memory.pool.known_pools import KnownPools
from memshare_memory.recall.conflicts import Conflict
from memshare_memory.recall.recall import Recall
from memshare_memory.stores.bm25 import query
from memshare_memory.stores.store import search_one


class Service:
    """All but `recall`, which is answered in batches (`memshare_memory.door.recalls`)."""

    def __init__(self, pool: Callable[[], Recall], curate: Curate, forgetting: Forgetting, pools: KnownPools) -> None:
        self._pool = pool
        self._curate = curate
        self._forgetting = forgetting
        self.pools = pools

    def embed(self, request: EmbedRequest) -> Embedding:
        recall = self._pool()
        [vector] = recall.begin(request.text, request.asked_by or "").result()
        return Embedding.pack(recall.encoder_name, vector)

    def embed_each(self, texts: Sequence[str]) -> list[Embedding]:
        recall = self._pool()
        return [Embedding.pack(recall.encoder_name, vector) for vector in recall.encode(texts)] if texts else []

    def vectors(self, ids: Sequence[UUID]) -> dict[UUID, Embedding]:
        recall = self._pool()
        return {one: Embedding.pack(recall.encoder_name, vector) for one, vector in recall.store.dense_of(ids).items()}

    def search(self, request: SearchRequest) -> tuple[Found, ...]:
        recall = self._pool()
        words = query(request.text) if request.mode == "hybrid" else None
        [vector] = recall.begin(request.text, request.asked_by or "").result()
        hits = search_one(recall.store, request.where, request.k, dense=vector, sparse=words)
        return tuple(Found(memory=hit.memory, similarity=hit.similarity) for hit in hits)

    def page(self, request: PageRequest) -> MemoryPage:
        if request.order is not None:
            first = self._pool().store.first(request.where, request.order, request.limit)
            return MemoryPage(memories=tuple(first), after=None)
        page = self._curate.page(request.where, request.limit, request.after)
        return MemoryPage(memories=tuple(page.memories), after=page.after)

    def raw(self, request: RawRequest) -> RawMemories:
        return raw_memories(self._pool(), request)

    def drop_damaged(self, ids: Sequence[UUID]) -> list[UUID]:
        return self._curate.drop_damaged(ids)

    def stats(self, _: None) -> Stats:
        by_pool = self._curate.stats()
        return Stats(total=sum(by_pool.values()), by_pool=by_pool, unreadable=len(self._pool().store.unreadable))

    def get(self, memory_id: UUID) -> Memory:
        return self._curate.get(memory_id)

    def add(self, memories: Sequence[NewMemory]) -> list[UUID]:
        self.pools.require({one.pool for one in memories if not one.new_pool})
        return self._curate.add(memories)

    def restore(self, memories: Sequence[Memory]) -> list[UUID]:
        return self._curate.restore(memories)

    def edit(self, edit: Edit) -> Memory:
        return self._curate.edit(edit)

    def forget_preview(self, forget: Forget) -> ForgetPreview:
        return self._forgetting.preview(forget)

    def forget(self, forget: Forget) -> list[UUID]:
        return self._forgetting.forget(forget)

    def trash(self, request: TrashRequest) -> TrashPage:
        return self._forgetting.trash(request)

    def restore_forgotten(self, request: RestoreForgotten) -> Restored:
        return self._forgetting.restore(request)

    def purge(self, forget: Forget) -> Purged:
        return self._forgetting.purge(forget)

    def rewrite(self, _: None) -> FilesRewritten:
        return self._forgetting.rewrite()

    def judge(self, ids: Sequence[UUID]) -> list[JudgedMemory]:
        return [
            JudgedMemory(memory=memory, credibility=Credibility(**known._asdict()), conflicts=tuple(rivals))
            for memory, known, rivals in self._curate.judge(ids)
        ]

    def decide(self, decision: ConflictDecision) -> None:
        self._curate.decide(decision)

    def conflicts(self, pool: str) -> list[Conflict]:
        return self._curate.conflicts(pool)
