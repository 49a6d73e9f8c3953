"""The embedded store: Qdrant Edge, the engine of Qdrant, inside the one process that owns the folder."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import cast
from uuid import UUID

import numpy as np
import qdrant_edge as edge
from numpy.typing import NDArray

from memshare.broker.errors import TryAgain
from memshare.memory_service.memory import Memory
from memshare.memory_service.stores import edge_folder, points
from memshare.memory_service.stores.store import Hit, Layout, Page, Query, Sparse, Vectors, Where

log = logging.getLogger(__name__)

_UNINDEXED = 20_000
"""Vectors that can be searched one by one (some 6 ms); more are worth building the index for."""

_FLUSH_EVERY = 1_000
"""Writes after which the engine's files are brought up to date, so that its log stays short (about 50 ms)."""


class EdgeStore:
    """A pool in a folder.

    A write is in the engine's log when `put` or `delete` returns: it survives the end of the process in
    any way (kill -9 included). A loss of power may cost what was written since the last flush.
    Every call holds Python's global lock while it runs, so other threads wait for it.
    """

    def __init__(self, shard: edge.EdgeShard, folder: Path) -> None:
        self._shard = shard
        self._folder = folder
        self._counting = threading.Lock()
        self._unflushed = 0

    @classmethod
    def open(cls, folder: Path, layout: Layout, owner: str) -> EdgeStore:
        """Open the pool of a folder, making it if need be; `owner` is what a second opener is told.

        Raises `Unreachable` for a folder that another process has open, `BadInput` for one that cannot be
        written or was made for another encoder.
        """
        engine = edge_folder.prepare(folder, layout)
        try:
            shard = edge.EdgeShard.load(str(engine), _config(layout))
        except Exception as error:
            if "WouldBlock" in str(error):
                raise edge_folder.taken(folder) from error
            raise edge_folder.unwritable(folder, error) from error
        store = cls(shard, folder)
        try:
            edge_folder.claim(folder, owner)
            store._index()
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Bring the files up to date and let another process open the folder."""
        self._shard.flush()
        edge_folder.release(self._folder)
        self._shard.close()

    def put(self, items: Sequence[tuple[Memory, Vectors]]) -> None:
        for batch in points.batches(items):
            made = [edge.Point(memory.id, _vectors(given), points.payload(memory)) for memory, given in batch]
            self._write(edge.UpdateOperation.upsert_points(made), len(made))

    def search(
        self,
        where: Where,
        limit: int,
        dense: NDArray[np.float32] | None = None,
        sparse: Sparse | None = None,
        *,
        with_vectors: bool = False,
    ) -> list[Hit]:
        [hits] = self.search_batch([Query(where, limit, dense, sparse, with_vectors)])
        return hits

    def search_batch(self, queries: Sequence[Query]) -> list[list[Hit]]:
        if not queries:
            return []
        found = self._shard.query_batch(edge.QueryBatchRequest([_request(query) for query in queries]))
        return [
            points.hits(query, ((point.payload, point.score, point.vector) for point in some))
            for query, some in zip(queries, found, strict=True)
        ]

    def page(self, where: Where, limit: int, after: UUID | None = None) -> Page:
        found, following = self._shard.scroll(
            edge.ScrollRequest(offset=after, limit=limit, filter=_filter(where), with_payload=True)
        )
        return Page([points.memory(point.payload) for point in found], cast("UUID | None", following))

    def count(self, where: Where) -> dict[str, int]:
        counted = self._shard.facet(
            edge.FacetRequest("pool", limit=points.MAX_POOLS, exact=True, filter=_filter(where))
        )
        return {str(hit.value): hit.count for hit in counted.hits if hit.count}

    def delete(self, ids: Sequence[UUID]) -> None:
        self._write(edge.UpdateOperation.delete_points(list(ids)), len(ids))

    def _write(self, operation: edge.UpdateOperation, size: int) -> None:
        edge_folder.require_room(self._folder)
        try:
            self._shard.update(operation)
        except Exception as error:
            if "No space left" in str(error):
                raise TryAgain(
                    f"The disk of {str(self._folder)!r} is full. Make room for the pool.", reason="store"
                ) from error
            raise
        with self._counting:
            self._unflushed += size
            due = self._unflushed >= _FLUSH_EVERY
            if due:
                self._unflushed = 0
        if due:
            self._shard.flush()

    def _index(self) -> None:
        """Build what makes searches fast. The engine builds nothing by itself, and blocks while it does."""
        info = self._shard.info()
        for key in points.KEYWORDS:
            if key not in info.payload_schema:
                self._write(edge.UpdateOperation.create_field_index(key, edge.PayloadSchemaType.Keyword), 0)
        # The engine counts two vectors a point, of which the sparse one always has its index.
        if 2 * info.points_count - info.indexed_vectors_count > _UNINDEXED:
            log.info("Building the vector index of %d memories; this takes a while.", info.points_count)
            self._shard.optimize()
            self._shard.flush()


def _config(layout: Layout) -> edge.EdgeConfig:
    return edge.EdgeConfig(
        vectors={points.DENSE: edge.EdgeVectorParams(layout.dimension, edge.Distance.Cosine)},
        sparse_vectors={points.SPARSE: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)},
    )


def _vectors(given: Vectors) -> dict[str, edge.NamedVector]:
    return {points.DENSE: given.dense.tolist(), points.SPARSE: edge.SparseVector(*given.sparse)}


def _request(query: Query) -> edge.QueryRequest:
    chosen = _filter(query.where)
    rankings: list[edge.Query] = []
    if query.dense is not None:
        rankings.append(edge.Query.Nearest(query.dense.tolist(), points.DENSE))
    if query.sparse is not None:
        rankings.append(edge.Query.Nearest(edge.SparseVector(*query.sparse), points.SPARSE))
    if not points.is_fused(query):
        return edge.QueryRequest(
            query.limit,
            query=rankings[0],
            filter=chosen,
            with_payload=[points.WHOLE],
            with_vector=[points.DENSE] if query.with_vectors else False,
        )
    return edge.QueryRequest(
        query.limit,
        query=cast("edge.Fusion", edge.Fusion.Rrf(points.RRF_K)),
        prefetches=[edge.Prefetch(points.depth(query.limit), query=one, filter=chosen) for one in rankings],
        with_payload=[points.WHOLE],
        with_vector=[points.DENSE],
    )


def _filter(where: Where) -> edge.Filter:
    must: list[edge.ConditionType] = [
        edge.FieldCondition(key, match=edge.MatchAny(values)) for key, values in points.conditions(where)
    ]
    if where.ids is not None:
        must.append(edge.HasIdCondition(set(where.ids)))
    if where.without_task:
        must.append(edge.IsEmptyCondition("task_id"))
    apart: list[edge.ConditionType] = []
    if where.submitter_not:
        apart.append(edge.FieldCondition("submitter", match=edge.MatchAny(list(where.submitter_not))))
    return edge.Filter(must=must, must_not=apart or None)
