"""The engine of an embedded pool: opened once its files are known to be what they were, read whole, and rewritten.

A pool that was closed has a seal: the digests of its files. One whose process was killed has a tally: what it held. A
pool from before either was kept has neither, and is taken as it is.

The engine leaves what was deleted in its log and its payload files. To be rid of that, all that the pool holds is
copied to a new engine beside the old one, which then takes its place. A process that ends in between leaves one of the
two whole, and the next one that opens the folder tidies up.

`python -m memshare_memory.stores.edge_engine FOLDER` reads a whole pool in a process of its own, for a damaged
file may end who reads it; it prints what the pool holds, or ends otherwise.
"""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import qdrant_edge as edge
from pydantic import ValidationError

from memshare_broker.child_processes import python
from memshare_broker.errors import Unreachable
from memshare_broker.wire.messages import Message
from memshare_memory.stores import edge_folder, edge_integrity, points
from memshare_memory.stores.edge_integrity import Sum, Tally, damaged, digest, is_panic, left_behind, no_panic
from memshare_memory.stores.store import Layout

log = logging.getLogger(__name__)

_LONGEST = 900.0  # seconds
_LAST_WORDS = 300  # characters
_PAGE = 1_000  # points

_UNINDEXED = 10_000
"""Vectors that are searched one by one, in some 1 ms; more get an index when the pool is opened. The engine builds none
for less than 10 MB of vectors, which are 6,700 of the bundled encoder."""

_LINKED = ("pool", "status")
"""Fields by which the vector index is linked as well, so that it is as good for one pool as for all. Every search
names these; each further one makes building slower, by half with all of them."""


def config(layout: Layout) -> edge.EdgeConfig:
    return edge.EdgeConfig(
        vectors={points.DENSE: edge.EdgeVectorParams(layout.dimension, edge.Distance.Cosine)},
        sparse_vectors={points.SPARSE: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)},
        # With one for each processor, waking them takes longer than the search: 2.8 ms, not 1.4, of 100,000 memories.
        max_search_threads=1,
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
    for page in pages(shard, [points.WHOLE, points.CREDIBILITY]):
        for point in page:
            if fields := points.completed(point.id, point.payload):
                shard.update(edge.UpdateOperation.set_payload([point.id], fields))


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
        held = edge_integrity.unsealed(folder, engine) or _left_by_a_killed_one(folder, engine)
        tally = Tally(folder, held) if held is not None else None
        edge_integrity.remove(folder)
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
    edge_integrity.seal(folder, folder / edge_folder.ENGINE, held)
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
        return edge.EdgeShard.load(str(engine), config(layout))
    except Exception as error:
        if "expected vector storages with keys" not in str(error):
            raise
        # A pool that has vectors of concepts: what else of the layout differs was found out by its metadata.
        shard = edge.EdgeShard.load(str(engine))
        shard.update(edge.UpdateOperation.delete_vector_name("concepts"))
        return shard


def rewritten(folder: Path, shard: edge.EdgeShard) -> edge.EdgeShard:
    """The engine of a pool's folder on new files, with what `shard` holds; nobody may write meanwhile."""
    layout = edge_folder.layout_of(folder)
    assert layout is not None
    engine, fresh, old = (folder / name for name in (edge_folder.ENGINE, edge_folder.FRESH, edge_folder.OLD))
    _copy(shard, folder, fresh, layout)
    engine.rename(old)
    fresh.rename(engine)
    opened = loaded(folder, engine, layout)
    shutil.rmtree(old)  # who reads in it still has its files open
    return opened


def remove_others(folder: Path) -> tuple[str, ...]:
    """Remove the pools of other encoders, which are made anew when they are wanted; returns the copies that stay.

    Those were kept from before a restore or a repair, or belong to a process that has them open.
    """
    copies = []
    for path in sorted(
        (*folder.parent.glob(f"{folder.name.partition('-')[0]}*"), *folder.parent.glob("before-restore-*"))
    ):
        if not path.is_dir() or path == folder:
            continue
        try:
            if edge_folder.layout_of(path) is None or "." in path.name:
                copies.append(str(path))
                continue
            with edge_folder.lock(path):
                shutil.rmtree(path)
        except Unreachable:
            copies.append(str(path))
    return tuple(copies)


def _copy(shard: edge.EdgeShard, folder: Path, fresh: Path, layout: Layout) -> None:
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    target = loaded(folder, fresh, layout)
    build(target, folder)  # while it is empty, or it would take noted credibility for none
    for page in pages(shard, payload=True, vectors=True):
        copies = [
            edge.Point(point.id, cast("dict[str, edge.NamedVector]", point.vector), point.payload) for point in page
        ]
        if copies:
            edge_folder.require_room(folder)
            target.update(edge.UpdateOperation.upsert_points(copies, None, edge.UpdateMode.Upsert))
    build(target, folder)
    target.flush()
    target.close()


class Probed(Message):
    """Contents of a pool, found by reading all of it."""

    memories: int
    fingerprint: str
    counted: int  # how many the engine says there are
    not_found: int  # how many of those with a pool it does not find by it
    vectors: int  # how many have both vectors, the dense one of length 1


def probe(folder: Path, engine: Path) -> Sum:
    """Number and fingerprint of the pool's memories; raises `Damaged` if it cannot be read whole."""
    command = python("-m", __name__, str(engine))
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_LONGEST, check=False)
    except subprocess.TimeoutExpired as error:
        raise damaged(folder, f"it could not be read within {_LONGEST:.0f} s") from error
    try:
        found = Probed.model_validate_json(done.stdout)
    except ValidationError as error:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["no output"]
        ended = f"signal {-done.returncode}" if done.returncode < 0 else f"status {done.returncode}"
        found_out = f"reading all of it ended with {ended} ({said[-1][:_LAST_WORDS]})"
        raise damaged(folder, found_out) from error
    if found.counted != found.memories:
        raise damaged(folder, f"it says that it holds {found.counted} memories, and {found.memories} can be read")
    if found.vectors != found.memories:
        raise damaged(folder, f"of its {found.memories} memories {found.memories - found.vectors} have damaged vectors")
    if found.not_found:
        raise damaged(folder, f"of its {found.memories} memories {found.not_found} are not found by their pool")
    return Sum(found.memories, int(found.fingerprint, 16))


def sum_of(shard: edge.EdgeShard) -> Sum:
    """Number and fingerprint of the memories in an open engine, found by reading all of it."""
    return Sum().changed((), (digest(point.id, (point.payload or {}).get(points.WHOLE)) for point in _every(shard, [])))


def _every(shard: edge.EdgeShard, vectors: list[str]) -> Iterator[edge.Record]:
    return (point for page in pages(shard, [points.WHOLE, "pool"], vectors) for point in page)


def main() -> None:
    shard = edge.EdgeShard.load(sys.argv[1])
    held, vectors, pools = Sum(), 0, Counter[str]()
    for point in _every(shard, [points.DENSE, points.SPARSE]):
        payload = point.payload or {}
        held = held.changed((), [digest(point.id, payload.get(points.WHOLE))])
        vectors += points.has_vectors(point.vector)
        pools.update([payload["pool"]] if "pool" in payload else [])
    info = shard.info()
    if "pool" in info.payload_schema:  # it is made at the first opening
        hits = shard.facet(edge.FacetRequest("pool", limit=len(pools) + 1, exact=True)).hits
        pools.subtract({str(hit.value): hit.count for hit in hits})
    found = Probed(
        memories=held.memories,
        fingerprint=f"{held.mark:032x}",
        counted=info.points_count,
        not_found=sum(map(abs, pools.values())) if "pool" in info.payload_schema else 0,
        vectors=vectors,
    )
    shard.close()
    print(found.model_dump_json())


if __name__ == "__main__":
    main()
