"""Opens the engine of an embedded pool, after it has made sure that the files are what they were.

A pool that was closed has a seal: the digests of its files. One whose process was killed has a tally: what it held. A
pool from before either was kept has neither, and is taken as it is.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import BinaryIO, NamedTuple

import qdrant_edge as edge

from memshare_memory.stores import points
from memshare_memory.stores.edge import edge_folder, edge_requests, integrity
from memshare_memory.stores.edge.engine_probe import probe, sum_of
from memshare_memory.stores.edge.integrity import Sum, Tally, damaged, is_panic, left_behind, no_panic
from memshare_memory.stores.store import Layout

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


class OpenedPool(NamedTuple):
    """An open engine, what it holds, and the file by whose lock no other process opens it."""

    shard: edge.EdgeShard
    tally: Tally
    lock: BinaryIO


def open_engine(folder: Path, layout: Layout) -> OpenedPool:
    """Open the engine of a pool's folder, made if need be.

    Raises `Unreachable` where another process has it, `Damaged` where its files are not what they were, and `BadInput`
    where it cannot be used.
    """
    engine = edge_folder.prepare(folder, layout)
    lock = edge_folder.lock(folder)
    try:
        edge_folder.end_rewrite(folder)
        held = integrity.unsealed(folder, engine) or _left_by_a_killed_one(folder, engine)
        tally = Tally(folder, held) if held is not None else None
        integrity.remove(folder)
        shard = loaded(folder, engine, layout)
        return OpenedPool(shard, tally or Tally(folder, sum_of(shard)), lock)
    except BaseException:
        lock.close()
        raise


def close_engine(folder: Path, opened: OpenedPool) -> None:
    """Bring the files up to date, seal them, and let another process open the folder."""
    with no_panic(folder):
        opened.shard.flush()
        held = opened.tally.now or sum_of(opened.shard)
        opened.shard.close()
    integrity.seal(folder, edge_folder.engine_of(folder), held)
    opened.tally.remove()
    edge_folder.release(folder)
    opened.lock.close()


def _left_by_a_killed_one(folder: Path, engine: Path) -> Sum | None:
    left = left_behind(folder)
    if left is None:
        return None
    held = probe(folder, engine)
    if not left.sums or held in left.sums:
        return held
    last = left.sums[-1]
    if left.same_start:
        some = ", of which some differ" if held.memories == last.memories else ""
        raise damaged(folder, f"it held {last.memories} memories when its process ended, and now {held.memories}{some}")
    log.warning(
        "The machine ended while the pool in %s was open: it has %d memories, and %d were written. What was written in"
        " the last moments is gone, or came back.",
        folder,
        held.memories,
        last.memories,
    )
    return held


def loaded(folder: Path, engine: Path, layout: Layout) -> edge.EdgeShard:
    """The engine on its files, as they are; raises as `open_engine` does."""
    try:
        return _load(engine, layout)
    except BaseException as error:
        if is_panic(error):
            raise damaged(folder, f"the engine could not open it ({error})") from None
        if not isinstance(error, Exception):
            raise
        if "WouldBlock" in str(error):
            raise edge_folder.taken(folder) from error
        raise edge_folder.unwritable(folder, error) from error


def _load(engine: Path, layout: Layout) -> edge.EdgeShard:
    try:
        return edge.EdgeShard.load(str(engine), edge_requests.config(layout))
    except Exception as error:
        if "expected vector storages with keys" not in str(error):
            raise
        # A pool that has vectors of concepts: what else of the layout differs was found out by its metadata.
        shard = edge.EdgeShard.load(str(engine))
        shard.update(edge.UpdateOperation.delete_vector_name("concepts"))
        return shard
