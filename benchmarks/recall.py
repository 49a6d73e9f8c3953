"""How long recall takes, encoding and searching apart: `python -m benchmarks.recall`.

A search is `Recall.nearest` for three memories on the embedded store, with a filter by one of four pools and by status,
without the look at Redis for a new adapter. A folder is written, closed and opened again, for the engine builds its
index when it is opened. Dense, adapted and hybrid searches take turns, so that what else the machine does falls on
all alike. `recall_at_10` is the share of the ten nearest memories of the pool, found by comparing with every one, that
the store finds.

Through the door, 32 callers in four processes ask a memory service for three memories of 10,000. With pauses, each
waits half a second between two recalls, as an agent does while its model answers; without, it asks again at once.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks.door import through_the_door
from benchmarks.encoding import encodes
from benchmarks.report import Aim, milliseconds, percentile, print_figures, progress
from benchmarks.synthetic import DIMENSION, Synthetic
from memshare_memory.encoders.encoder import Encoder
from memshare_memory.encoders.open_encoder import open_encoder
from memshare_memory.encoders.shared_batches import SharedBatches
from memshare_memory.recall.recall import Recall, sparse_of
from memshare_memory.recall.retriever import Adapter, Retriever
from memshare_memory.stores.edge_store import EdgeStore
from memshare_memory.stores.store import Layout, Vectors, Where, search_one

AIM_AT = 100_000
AIMS = (
    Aim("door_p50_ms", 15, "ms", at_most=True),
    Aim("door_p99_ms", 60, "ms", at_most=True),
    Aim(f"search_p50_ms_at_{AIM_AT}", 3, "ms", at_most=True),
)
SHOWN = 3
QUERIES, WARM_UP = 500, 50
NEAREST = 10  # of which the index should find all
SMALLEST = 100  # so that every pool has more than those
BATCH = 1_000
LAYOUT = Layout(encoder="synthetic", dimension=DIMENSION)

Figures = dict[str, Any]


class FixedAdapter(Retriever):
    """A retriever that always has this adapter, and asks no Redis."""

    def __init__(self, adapter: Adapter) -> None:
        self._fixed = adapter

    def adapters(self, pools: Collection[str]) -> dict[str, Adapter]:
        return dict.fromkeys(pools, self._fixed)


def main(
    sizes: Annotated[str, typer.Option(help="Numbers of memories, with commas between.")] = "1000,10000,100000",
    door: Annotated[int, typer.Option(help="Memories behind the door; 0 leaves that out.")] = 10_000,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document in place of tables.")] = False,
) -> None:
    """Measure encoding and searching, and print the figures."""
    try:
        counts = [int(size) for size in sizes.split(",")]
    except ValueError as error:
        raise typer.BadParameter(f"expected numbers with commas between, found {sizes!r}") from error
    if min(counts) < SMALLEST:
        raise typer.BadParameter(f"expected sizes of at least {SMALLEST}, found {min(counts)}")
    with tempfile.TemporaryDirectory(prefix="memshare-bench-") as exports:
        encoder = SharedBatches(open_encoder(None, device="cpu", timeout=60, exports=Path(exports)))
    figures: Figures = {}
    for count in counts:
        with tempfile.TemporaryDirectory(prefix="memshare-bench-") as folder:
            for name, value in searches(Path(folder), count, encoder).items():
                figures.setdefault(name, {})[str(count)] = value
    figures |= encodes(encoder)
    if door:
        figures |= through_the_door(door)
    if (reached := figures["search_p50_ms"].get(str(AIM_AT))) is not None:
        figures[f"search_p50_ms_at_{AIM_AT}"] = reached
    print_figures("Recall", figures, as_json=as_json, aims=AIMS)


def searches(folder: Path, count: int, encoder: Encoder) -> Figures:
    """Write a pool of this size, have it indexed, and search in it."""
    world = Synthetic(seed=count)
    started = time.perf_counter()
    ids, pools, vectors = _write(folder, world, count)
    written = time.perf_counter()
    EdgeStore.open(folder, LAYOUT, "benchmark").close()
    indexed = time.perf_counter()
    store = EdgeStore.open(folder, LAYOUT, "benchmark")
    opened = time.perf_counter()
    try:
        figures = _ask(store, encoder, world, ids, pools, vectors)
    finally:
        store.close()
    return figures | {
        "seconds_to_write": round(written - started, 2),
        "seconds_to_index": round(max(0.0, (indexed - written) - (opened - indexed)), 2),
        "seconds_to_open": round(opened - indexed, 2),
    }


def _write(folder: Path, world: Synthetic, count: int) -> tuple[list[UUID], NDArray[np.str_], NDArray[np.float32]]:
    store = EdgeStore.open(folder, LAYOUT, "benchmark")
    ids, pools, rows = [], [], []
    try:
        for start in progress(range(0, count, BATCH), f"Writing {count:,} memories"):
            batch = world.memories(min(BATCH, count - start))
            store.put([(memory, Vectors(vector, sparse_of(memory))) for memory, vector in batch])
            ids += [memory.id for memory, _ in batch]
            pools += [memory.pool for memory, _ in batch]
            rows += [vector for _, vector in batch]
    finally:
        store.close()
    return ids, np.array(pools), np.array(rows)


def _ask(
    store: EdgeStore,
    encoder: Encoder,
    world: Synthetic,
    ids: Sequence[UUID],
    pools: NDArray[np.str_],
    vectors: NDArray[np.float32],
) -> Figures:
    plain = Recall(store, encoder, FixedAdapter(Adapter()))
    adapted = Recall(store, encoder, FixedAdapter(Adapter.of(1, world.adapter_weights(), {})))
    times: dict[str, list[float]] = {"": [], "adapter_": [], "hybrid_": []}
    queries = world.queries(WARM_UP + QUERIES)
    for query in progress(queries, f"Searching in {len(ids):,} memories"):
        for name, recall, mode in (("", plain, "dense"), ("adapter_", adapted, "dense"), ("hybrid_", plain, "hybrid")):
            times[name].append(milliseconds(recall.nearest, query.pool, query.text, query.vector, SHOWN, mode))
    # Apart from the searches, whose times it would change: numpy's threads stay busy for a while after a product.
    found = 0
    for query in progress(queries[WARM_UP:], f"Comparing with all {len(ids):,} memories"):
        cosines = np.where(pools == query.pool, vectors @ query.vector, -1)
        best = {ids[row] for row in np.argpartition(-cosines, NEAREST)[:NEAREST]}
        hits = search_one(store, Where(pool=query.pool, status="active"), NEAREST, dense=query.vector)
        found += len(best & {hit.memory.id for hit in hits})
    percentiles = {
        f"search_{name}p{percent}_ms": percentile(values[WARM_UP:], percent)
        for name, values in times.items()
        for percent in (50, 99)
    }
    return percentiles | {f"recall_at_{NEAREST}": round(found / QUERIES / NEAREST, 4)}


if __name__ == "__main__":
    typer.run(main)
