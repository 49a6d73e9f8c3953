"""The store on a Qdrant server or cluster, for any number of processes on any number of machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from qdrant_client import QdrantClient, models

from memshare_memory.memory import Memory
from memshare_memory.stores import points
from memshare_memory.stores.bm25 import Sparse
from memshare_memory.stores.server_collection import answering, collection_beside, connected, current_collection
from memshare_memory.stores.store import (
    EXACT,
    MOST_VALUES,
    CountKey,
    Hit,
    Layout,
    Order,
    Page,
    Query,
    RawPage,
    RawPoint,
    Vectors,
    Where,
)


class ServerStore:
    """A pool in a collection of Qdrant.

    It keeps to the collection that the alias named when it was opened: when the alias moves on to another
    encoder's, vectors of this one must not follow it.
    """

    def __init__(self, client: QdrantClient, collection: str, address: str) -> None:
        self._client = client
        self._collection = collection
        self._address = address
        self.unreadable: set[UUID] = set()

    @classmethod
    def open(cls, url: str, api_key: str | None, layout: Layout, *, beside: bool = False) -> ServerStore:
        """Connect to the server at an address like http://HOST:6333, and make the collection if need be.

        `beside` opens the collection for this layout, whatever the alias names. Raises `Unreachable` where no
        Qdrant answers, `BadInput` where it cannot be used with these settings.
        """
        find = collection_beside if beside else current_collection
        with connected(url, api_key) as client:
            return cls(client, find(client, layout, url), url)

    def close(self) -> None:
        self._client.close()

    def put(self, items: Sequence[tuple[Memory, Vectors]], *, in_place: bool = False, are_new: bool = False) -> None:
        mode = models.UpdateMode.UPDATE_ONLY if in_place else None
        for batch in points.batches(items):
            with answering(self._address):
                stays = {} if are_new else self._staying([memory.id for memory, _ in batch])
                made = [
                    models.PointStruct(
                        id=str(memory.id),
                        vector={points.DENSE: given.dense.tolist(), points.SPARSE: _sparse(given.sparse)},
                        payload=points.fields(memory, given, stays.get(memory.id)),
                    )
                    for memory, given in batch
                ]
                self._client.upsert(self._collection, made, wait=True, update_mode=mode)

    def _staying(self, ids: Sequence[UUID]) -> dict[UUID, dict[str, Any]]:
        """Fields that stay with the memories of these ids that exist."""
        named = [str(name) for name in ids]
        found = self._client.retrieve(self._collection, named, with_payload=points.STAYING) if named else []
        return points.staying((point.id, point.payload) for point in found)

    def search(self, queries: Sequence[Query]) -> list[list[Hit]]:
        if not queries:
            return []
        with answering(self._address):
            found = self._client.query_batch_points(self._collection, [_request(query) for query in queries])
        return [
            points.hits(
                query,
                ((points.memory(hit.id, hit.payload, self.unreadable), hit.score, hit.vector) for hit in some.points),
            )
            for query, some in zip(queries, found, strict=True)
        ]

    def page(self, where: Where, limit: int, after: UUID | None = None, *, order: Order | None = None) -> Page:
        with answering(self._address):
            found, following = self._client.scroll(
                self._collection,
                scroll_filter=_filter(where),
                limit=limit,
                offset=after and str(after),
                order_by=_sorting(order),
            )
        memories = points.memories(((point.id, point.payload) for point in found), self.unreadable)
        return Page(memories, UUID(str(following)) if following and order is None else None)

    def order_ids(self, where: Where, order: Order, limit: int) -> list[UUID]:
        with answering(self._address):
            found, _ = self._client.scroll(
                self._collection,
                scroll_filter=_filter(where),
                limit=limit,
                order_by=_sorting(order),
                with_payload=False,
            )
        return [UUID(str(point.id)) for point in found]

    def note_credibility(self, noted: Mapping[UUID, float]) -> None:
        # By a filter, as what is not there any more would be refused by its id.
        changes: list[models.UpdateOperation] = [
            models.SetPayloadOperation(
                set_payload=models.SetPayload(payload={points.CREDIBILITY: how}, filter=_filter(Where(ids=[memory])))
            )
            for memory, how in noted.items()
        ]
        with answering(self._address):
            if changes:
                self._client.batch_update_points(self._collection, changes, wait=True)

    def count(self, where: Where, by: CountKey = "pool") -> dict[str, int]:
        exact, limit = by in EXACT, points.MAX_POOLS if by == "pool" else MOST_VALUES
        with answering(self._address):
            counted = self._client.facet(self._collection, by, facet_filter=_filter(where), limit=limit, exact=exact)
        return {str(hit.value): hit.count for hit in counted.hits if hit.count}

    def dense_of(self, ids: Sequence[UUID]) -> dict[UUID, NDArray[np.float32]]:
        if not ids:
            return {}
        with answering(self._address):
            found = self._client.retrieve(
                self._collection, [str(memory) for memory in ids], with_payload=False, with_vectors=[points.DENSE]
            )
        return {UUID(str(point.id)): dense for point in found if (dense := points.dense_of(point.vector)) is not None}

    def both_of(self, ids: Sequence[UUID]) -> dict[UUID, NDArray[np.float32]]:
        if not ids:
            return {}
        named = [str(memory) for memory in ids]
        with answering(self._address):
            found = self._client.retrieve(
                self._collection, named, with_payload=[points.MASKED], with_vectors=[points.DENSE]
            )
        return points.both_in((point.id, point.payload, point.vector) for point in found)

    def raw(self, limit: int, after: UUID | None = None, *, text_alone: bool = False) -> RawPage:
        with answering(self._address):
            found, following = self._client.scroll(
                self._collection,
                limit=limit,
                offset=after and str(after),
                with_payload=[points.WHOLE] if text_alone else True,
                with_vectors=False if text_alone else [points.DENSE],
            )
        raw = [RawPoint(UUID(str(point.id)), point.payload or {}, points.dense_of(point.vector)) for point in found]
        return RawPage(raw, UUID(str(following)) if following else None)

    def delete(self, ids: Sequence[UUID]) -> None:
        with answering(self._address):
            if ids:
                self._client.delete(self._collection, [str(memory) for memory in ids], wait=True)
                self.unreadable -= set(ids)


def _sparse(given: Sparse) -> models.SparseVector:
    return models.SparseVector(indices=given.indices, values=given.values)


def _sorting(order: Order | None) -> models.OrderBy | None:
    if order is None:
        return None
    direction = models.Direction.ASC if order.ascending else models.Direction.DESC
    return models.OrderBy(key=order.by, direction=direction)


def _request(query: Query) -> models.QueryRequest:
    chosen = _filter(query.where)
    rankings: list[models.Prefetch] = []
    if query.dense is not None:
        rankings.append(models.Prefetch(query=query.dense.tolist(), using=points.DENSE, filter=chosen))
    if query.sparse is not None:
        rankings.append(models.Prefetch(query=_sparse(query.sparse), using=points.SPARSE, filter=chosen))
    if not points.is_fused(query):
        return models.QueryRequest(
            query=rankings[0].query,
            using=rankings[0].using,
            filter=chosen,
            limit=query.limit,
            score_threshold=query.at_least,
            with_payload=[points.WHOLE],
            with_vector=False,
        )
    return models.QueryRequest(
        query=models.RrfQuery(rrf=models.Rrf(k=points.RRF_K)),
        prefetch=[ranking.model_copy(update={"limit": points.depth(query.limit)}) for ranking in rankings],
        limit=query.limit,
        with_payload=[points.WHOLE],
        with_vector=[points.DENSE],
    )


def _filter(where: Where) -> models.Filter:
    must: list[models.Condition] = [
        models.FieldCondition(key=key, match=models.MatchAny(any=values)) for key, values in points.conditions(where)
    ]
    for key, low, high in points.ranges(where):
        span = models.Range(gte=low, lt=high) if key == "created" else models.Range(gte=low, lte=high)
        must.append(models.FieldCondition(key=key, range=span))
    must += [
        models.FieldCondition(key=points.WORDS, match=models.MatchValue(value=mark))
        for mark in points.wanted_marks(where)
    ]
    if where.ids is not None:
        must.append(models.HasIdCondition(has_id=[str(memory) for memory in where.ids]))
    if where.without_task:
        must.append(models.IsEmptyCondition(is_empty=models.PayloadField(key="task_id")))
    apart: list[models.Condition] = []
    if where.ids_not:
        apart.append(models.HasIdCondition(has_id=[str(memory) for memory in where.ids_not]))
    if where.submitter_not:
        match = models.MatchAny(any=list(where.submitter_not))
        apart.append(models.FieldCondition(key="submitter", match=match))
    return models.Filter(must=must, must_not=apart or None)
