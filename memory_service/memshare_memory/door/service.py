"""Answers of the memory service to requests at its door: recalls in batches, and a function for each other method."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from functools import partial
from hashlib import blake2b
from queue import SimpleQueue
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memshare_broker.observe import tracing
from memshare_broker.steady_thread import steady_thread
from memshare_broker.wire.messages import Embedding
from memshare_memory.curate.curate import Curate
from memshare_memory.curate.forgetting import Forgetting
from memshare_memory.curate.requests import NewMemory
from memshare_memory.door.messages import (
    CountRequest,
    EmbedRequest,
    Found,
    JudgedMemory,
    MemoryPage,
    PageRequest,
    RawMemories,
    RawMemory,
    RawRequest,
    RecallRequest,
    Recollection,
    SearchRequest,
    Stats,
)
from memshare_memory.pool.known_pools import KnownPools
from memshare_memory.recall.batch import BatchedRecall
from memshare_memory.recall.recall import Recall
from memshare_memory.stores.bm25 import query
from memshare_memory.stores.points import MASKED, WHOLE, problem
from memshare_memory.stores.store import MOST_ORDERED, RawPoint, Where, by_ids, search_one

LARGEST_BATCH = 32

_Vectors = NDArray[np.float32]
"""Of the text, and of the masked text where that is another; none for a request that wants no memory."""


class _Asked(NamedTuple):
    request: RecallRequest
    answer: Future[Recollection]
    there: Callable[[], AbstractContextManager[None]]  # goes on with the trace of who asks


class RecallBatches:
    """Takes requests from any thread, and answers them in a thread of its own, as many at once as are ready."""

    def __init__(self, pool: Callable[[], Recall]) -> None:
        self._pool = pool
        self._came: SimpleQueue[_Asked | Future[_Vectors] | None] = SimpleQueue()
        self._encoding: dict[Future[_Vectors], tuple[Recall, _Asked]] = {}
        """Requests whose texts are encoded, each with the generation of the pool that answers it."""
        self._is_closing = False
        self._closed = threading.Event()
        self._thread = steady_thread("memshare-recalls", self._next_batch, self._closed)

    def ask(self, request: RecallRequest) -> Future[Recollection]:
        """Queue a request; the future gives the recalled memories when its turn has come."""
        answer: Future[Recollection] = Future()
        self._came.put(_Asked(request, answer, tracing.here()))
        return answer

    def close(self) -> None:
        """Answer what has been asked, and end."""
        self._came.put(None)
        self._thread.join()

    def _next_batch(self) -> None:
        came = [self._came.get()]
        while len(came) < LARGEST_BATCH and not self._came.empty():
            came.append(self._came.get())
        self._is_closing = self._is_closing or None in came
        self._encode([event for event in came if isinstance(event, _Asked)])
        self._search([event for event in came if isinstance(event, Future)])
        if self._is_closing and not self._encoding:
            self._closed.set()

    def _encode(self, asked: Sequence[_Asked]) -> None:
        """Have texts encoded; who wants no memory, or has gone away meanwhile, needs no vector."""
        asked = [pending for pending in asked if not pending.answer.cancelled()]
        if not asked:
            return
        try:
            generation = self._pool()
        except Exception as error:  # noqa: BLE001 - whoever asked is told
            for pending in asked:
                if pending.answer.set_running_or_notify_cancel():
                    pending.answer.set_exception(error)
            return
        for pending in asked:
            request = pending.request
            asked_by = request.asked_by or request.submitter or ""
            with pending.there():
                vectors = generation.begin(request.text if request.k else None, asked_by, masking=True)
            self._encoding[vectors] = generation, pending
            # Neither future leads to the generation: a circle would keep its store open when it is out of use.
            pending.answer.add_done_callback(partial(_cancel, vectors))
            vectors.add_done_callback(self._came.put)

    def _search(self, ready: Sequence[Future[_Vectors]]) -> None:
        pending: dict[Recall, list[tuple[_Asked, Future[_Vectors]]]] = {}
        for vectors in ready:
            generation, asked = self._encoding.pop(vectors)
            if asked.answer.set_running_or_notify_cancel():
                pending.setdefault(generation, []).append((asked, vectors))
        for generation, some in pending.items():
            _answer(generation, some)


def _cancel(vectors: Future[_Vectors], _answer: Future[Recollection]) -> None:
    vectors.cancel()


def _answer(generation: Recall, pending: Sequence[tuple[_Asked, Future[_Vectors]]]) -> None:
    try:
        recollections = _recollections(generation, [(asked.request, vectors.result()) for asked, vectors in pending])
    except Exception as error:  # noqa: BLE001 - whoever asked is told
        if len(pending) == 1:
            pending[0][0].answer.set_exception(error)
            return
        for alone in pending:  # it may be about one of them alone
            _answer(generation, [alone])
        return
    for (asked, _), recollection in zip(pending, recollections, strict=True):
        asked.answer.set_result(recollection)


def _recollections(generation: Recall, asked: Sequence[tuple[RecallRequest, _Vectors]]) -> list[Recollection]:
    """Memories recalled for each request, with as few searches as possible."""
    recalled = generation.nearest_each(asked)
    credible = iter(generation.credibilities([hit for batched in recalled for hit in batched.hits]))
    return [
        Recollection(
            found=tuple(
                Found(memory=hit.memory, similarity=hit.similarity, proven=hit.proven, credibility=next(credible))
                for hit in batched.hits
            ),
            embedding=Embedding.pack(generation.encoder_name, vectors[0]) if len(vectors) else None,
            retriever_version=batched.retriever_version,
            nearer=_nearer(batched),
        )
        for batched, (_, vectors) in zip(recalled, asked, strict=True)
    ]


def _nearer(recalled: BatchedRecall) -> Found | None:
    near = recalled.nearest
    if near is None or any(hit.similarity >= near.similarity for hit in recalled.hits):
        return None
    return Found(memory=near.memory, similarity=near.similarity, proven=near.proven)


class Service:
    """All methods but `recall`, which `RecallBatches` answer."""

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
            "follow_forgotten": forgetting.follow,
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
        return {
            memory: Embedding.pack(recall.encoder_name, vector) for memory, vector in recall.store.dense_of(ids).items()
        }

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
            return MemoryPage(memories=tuple(found[memory] for memory in ids if memory in found), after=None)
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
            found = [raw for raw in found if raw.problem is not None]
        return RawMemories(
            memories=tuple(found), digests=digests, seen=len(page.points), after=page.after, encoder=recall.encoder_name
        )

    def _stats(self, _: None) -> Stats:
        store = self._pool().store
        by_pool = store.count(Where())
        return Stats(total=sum(by_pool.values()), by_pool=by_pool, unreadable=len(store.unreadable))

    def _add(self, memories: Sequence[NewMemory]) -> list[UUID]:
        self.pools.require({memory.pool for memory in memories if not memory.new_pool})
        return self._curate.add(memories)

    def _judge(self, ids: Sequence[UUID]) -> list[JudgedMemory]:
        return [
            JudgedMemory(
                memory=memory,
                credibility=known,
                conflicts=tuple(rival for rival, said in rivals.items() if said != "dismissed"),
                lost_to=tuple(rival for rival, said in rivals.items() if said == "wrong"),
                won_over=tuple(rival for rival, said in rivals.items() if said == "right"),
                both_right=tuple(rival for rival, said in rivals.items() if said == "dismissed"),
            )
            for memory, known, rivals in self._curate.judge(ids)
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
