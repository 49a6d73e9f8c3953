"""The indexes of an embedded pool, which are built when it is opened."""

from __future__ import annotations

import logging
from pathlib import Path

import qdrant_edge as edge

from memshare_memory.stores import points
from memshare_memory.stores.edge import edge_requests
from memshare_memory.stores.edge.engine_damage import no_panic

log = logging.getLogger(__name__)

_UNINDEXED = 10_000
"""Vectors that are searched one by one, in some 1 ms; more get an index when the pool is opened. The engine builds none
for less than 10 MB of vectors, which are 6,700 of the bundled encoder."""

_LINKED = ("pool", "status")
"""Fields by which the vector index is linked as well, so that it is as good for one pool as for all. Every search
names these; each further one makes building slower, by half with all of them."""


def build(shard: edge.EdgeShard, folder: Path) -> None:
    """Build what makes searches fast; the engine builds nothing by itself, and blocks every thread while it does.

    In small steps while the pool is used it would cost more, and stop every request for seconds: measured, 5,000 more
    vectors take some 4 s at 10,000 and 6 s at 20,000, as the engine merges them with those before. So it is done before
    there are requests; what comes later is searched one by one, at 0.1 ms for 1,000 memories.
    """
    with no_panic(folder):
        info = shard.info()
        if any(key not in info.payload_schema for key in points.ADDED):
            _add_fields(shard)
        for key in (*points.KEYWORDS, *points.NUMBERS, points.WORDS):
            if key not in info.payload_schema:
                shard.update(edge.UpdateOperation.create_field_index(key, _index(key)))
        # The engine counts both vectors of a point, of which the sparse one always has its index.
        unindexed = 2 * info.points_count - info.indexed_vectors_count
        if unindexed > _UNINDEXED:
            log.info("Building the vector index of %d memories; this takes a while.", unindexed)
            shard.optimize()
            shard.flush()


def _index(key: str) -> edge.KeywordIndexParams | edge.FloatIndexParams | edge.IntegerIndexParams:
    if key in points.NUMBERS:
        return edge.FloatIndexParams()
    if key == points.WORDS:
        return edge.IntegerIndexParams(lookup=True, range=False)
    return edge.KeywordIndexParams(enable_hnsw=key in _LINKED)


def _add_fields(shard: edge.EdgeShard) -> None:
    """Write the fields by which memories are found, where points of an older pool lack some."""
    for page in edge_requests.pages(shard, [points.WHOLE, points.CREDIBILITY]):
        for one in page:
            if fields := points.completed(one.id, one.payload):
                shard.update(edge.UpdateOperation.set_payload([one.id], fields))
