"""Requests to Qdrant Edge, in its own terms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import qdrant_edge as edge

from memshare_memory.stores import points
from memshare_memory.stores.store import EXACT, MOST_VALUES, CountKey, Layout, Order, Query, Vectors, Where

_PAGE = 1_000  # points


def config(layout: Layout) -> edge.EdgeConfig:
    """The engine for vectors of this layout."""
    return edge.EdgeConfig(
        vectors={points.DENSE: edge.EdgeVectorParams(layout.dimension, edge.Distance.Cosine)},
        sparse_vectors={points.SPARSE: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)},
        # With one for each processor, waking them takes longer than the search: 2.8 ms, not 1.4, of 100,000 memories.
        max_search_threads=1,
    )


def vectors(given: Vectors) -> dict[str, edge.NamedVector]:
    """The vectors of a point, by their names."""
    return {points.DENSE: given.dense.tolist(), points.SPARSE: edge.SparseVector(*given.sparse)}


def request(query: Query) -> edge.QueryRequest:
    """A search for ids and scores: what most memories say is known."""
    chosen = matching(query.where)
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
            score_threshold=query.at_least,
            with_payload=False,
            with_vector=False,
        )
    return edge.QueryRequest(
        query.limit,
        query=cast("edge.Fusion", edge.Fusion.Rrf(points.RRF_K)),
        prefetches=[edge.Prefetch(points.depth(query.limit), query=one, filter=chosen) for one in rankings],
        with_payload=False,
        with_vector=[points.DENSE],
    )


def pages(
    shard: edge.EdgeShard, payload: list[str] | bool, vectors: list[str] | bool = False
) -> Iterator[list[edge.Record]]:
    """All points of an engine with some of their fields and vectors, a page at a time."""
    after: edge.PointId | None = None
    while True:
        request = edge.ScrollRequest(offset=after, limit=_PAGE, with_payload=payload, with_vector=vectors)
        found, after = shard.scroll(request)
        yield found
        if after is None:
            return


def sorting(order: Order | None) -> edge.OrderBy | None:
    """An order other than that of the ids."""
    if order is None:
        return None
    return edge.OrderBy(order.by, edge.Direction.Asc if order.ascending else edge.Direction.Desc)


def order_ids(where: Where, order: Order, limit: int) -> edge.ScrollRequest:
    """The first memories in an order, without what they say."""
    return edge.ScrollRequest(limit=limit, filter=matching(where), order_by=sorting(order), with_payload=False)


def facet(where: Where, by: CountKey) -> edge.FacetRequest:
    """How many have each value of a field."""
    limit = points.MAX_POOLS if by == "pool" else MOST_VALUES
    return edge.FacetRequest(by, limit=limit, exact=by in EXACT, filter=matching(where))


def matching(where: Where) -> edge.Filter:
    """The filter that a point must pass."""
    must: list[edge.ConditionType] = [
        edge.FieldCondition(key, match=edge.MatchAny(values)) for key, values in points.conditions(where)
    ]
    for key, low, high in points.ranges(where):
        span = edge.RangeFloat(gte=low, lt=high) if key == "created" else edge.RangeFloat(gte=low, lte=high)
        must.append(edge.FieldCondition(key, range=span))
    must += [edge.FieldCondition(points.WORDS, match=edge.MatchValue(mark)) for mark in points.wanted_marks(where)]
    if where.ids is not None:
        must.append(edge.HasIdCondition(set(where.ids)))
    if where.without_task:
        must.append(edge.IsEmptyCondition("task_id"))
    apart: list[edge.ConditionType] = []
    if where.ids_not:
        apart.append(edge.HasIdCondition(set(where.ids_not)))
    if where.submitter_not:
        apart.append(edge.FieldCondition("submitter", match=edge.MatchAny(list(where.submitter_not))))
    return edge.Filter(must=must, must_not=apart or None)
