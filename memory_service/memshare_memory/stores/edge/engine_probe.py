"""Reads a whole pool in a process of its own, after one that was killed: a damaged file may end who reads it.

`python -m memshare_memory.stores.edge.engine_probe FOLDER` prints what the pool holds, or ends otherwise.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import qdrant_edge as edge
from pydantic import ValidationError

from memshare_broker.child_processes.pool import python
from memshare_broker.wire.messages import Message
from memshare_memory.stores import points
from memshare_memory.stores.edge import edge_requests
from memshare_memory.stores.edge.integrity import Sum, damaged, digest

_LONGEST = 900.0  # seconds
_LAST_WORDS = 300  # characters


class Probed(Message):
    """Contents of a pool, found by reading all of it."""

    memories: int
    fingerprint: str
    counted: int
    """How many the engine says there are."""
    not_found: int
    """How many of those with a pool it does not find by it."""
    vectors: int
    """How many have both vectors, the dense one of length 1."""


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
    return Sum().changed((), (digest(one.id, (one.payload or {}).get(points.WHOLE)) for one in _every(shard, [])))


def _every(shard: edge.EdgeShard, vectors: list[str]) -> Iterator[edge.Record]:
    return (one for page in edge_requests.pages(shard, [points.WHOLE, "pool"], vectors) for one in page)


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
