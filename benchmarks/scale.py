"""How a Qdrant server holds ever more memories: `python -m benchmarks.scale`.

Needs `qdrant` on the PATH. For each size an empty server is filled through the store, by one writer in batches, with
memories of 384 numbers and some 120 characters; then its indexes are awaited. A search is `Recall.nearest` for three
memories, with a filter by one of four pools and by status, over HTTP. It is asked by one caller. Then the vectors are
quantised to int8, kept in memory while the originals stay on the disk, and the same is asked again. `recall_at_10` is
the share of the ten nearest memories, found by comparing with every one, that the search finds. `rss_mb` is what the
server has in memory, with pages of its files; `anonymous_mb` is that without, and what it cannot do without.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from qdrant_client import QdrantClient, models

from benchmarks.recall import LAYOUT, FixedAdapter
from benchmarks.report import milliseconds, percentile, print_figures, progress
from benchmarks.synthetic import DIMENSION, Query, Synthetic
from memshare_memory.recall.recall import Recall, sparse_of
from memshare_memory.recall.retriever import Adapter
from memshare_memory.stores.points import DENSE
from memshare_memory.stores.server_collection import ALIAS
from memshare_memory.stores.server_store import ServerStore
from memshare_memory.stores.store import Vectors, Where, search_one
from tests.support.qdrant_server import QdrantProcess

BATCH = 1_000
ANSWER_WORDS = 12
QUERIES, WARM_UP, COMPARED = 500, 50, 50
SHOWN, NEAREST = 3, 10
INDEXED_WITHIN = 3 * 3_600.0  # seconds
STILL = 5.0  # seconds for which nothing more is to be indexed
TIMEOUT = 600  # seconds; comparing with every memory takes long


class NoEncoder:
    """Vectors come with the queries here."""

    name, dimension = LAYOUT.encoder, DIMENSION

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise AssertionError(f"nothing was to be encoded, found {texts!r}")


def main(
    sizes: Annotated[str, typer.Option(help="Numbers of memories, with commas between.")] = "100000,1000000",
    folder: Annotated[Path | None, typer.Option(help="Where the servers keep their files; 5 GB for a million.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document in place of tables.")] = False,
) -> None:
    """Fill servers, search in them, and print the figures."""
    figures: dict[str, Any] = {"processors": len(os.sched_getaffinity(0))}
    for count in map(int, sizes.split(",")):
        with tempfile.TemporaryDirectory(prefix="memshare-bench-", dir=folder) as place:
            figures |= _one(Path(place), count)
    print_figures("A Qdrant server", figures, as_json=as_json)


def _one(place: Path, count: int) -> dict[str, Any]:
    world = Synthetic(seed=count, answer_words=ANSWER_WORDS)
    with (
        QdrantProcess(place, QDRANT__STORAGE__WAL__WAL_CAPACITY_MB="32").running() as server,
        closing(ServerStore.open(server.url, None, LAYOUT)) as store,
        closing(QdrantClient(url=server.url, timeout=TIMEOUT, check_compatibility=False)) as client,
    ):
        started = time.monotonic()
        for at in progress(range(0, count, BATCH), f"Writing {count:,} memories"):
            batch = world.memories(min(BATCH, count - at))
            store.put([(memory, Vectors(vector, sparse_of(memory))) for memory, vector in batch])
        written = time.monotonic()
        _wait_until_indexed(client)
        times = {
            "seconds_to_write": round(written - started, 1),
            "seconds_to_index": round(time.monotonic() - written - STILL, 1),
        }
        queries = world.queries(WARM_UP + QUERIES)
        plain = _asked(store, client, queries, place, server.pid)
        began = time.monotonic()
        _quantise(client)
        _wait_until_indexed(client)
        quantised = {"seconds_to_quantise": round(time.monotonic() - began - STILL, 1)}
        return {
            f"{count:,} memories, as they are": {**times, **plain},
            f"{count:,} memories, int8": {**quantised, **_asked(store, client, queries, place, server.pid)},
        }


def _quantise(client: QdrantClient) -> None:
    int8 = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, quantile=0.99, always_ram=True)
    client.update_collection(
        ALIAS,
        vectors_config={DENSE: models.VectorParamsDiff(on_disk=True)},
        quantization_config=models.ScalarQuantization(scalar=int8),
    )


def _wait_until_indexed(client: QdrantClient) -> None:
    """Wait until the server has had nothing to do for some seconds."""
    deadline = time.monotonic() + INDEXED_WITHIN
    since = time.monotonic()
    while time.monotonic() - since < STILL:
        if client.get_collection(ALIAS).status != models.CollectionStatus.GREEN:
            since = time.monotonic()
        if since > deadline:
            raise SystemExit(f"The server was not done with its indexes within {INDEXED_WITHIN:.0f} s.")
        time.sleep(0.2)


def _asked(store: ServerStore, client: QdrantClient, queries: Sequence[Query], place: Path, pid: int) -> dict[str, Any]:
    recall = Recall(store, NoEncoder(), FixedAdapter(Adapter()))
    times = [milliseconds(recall.nearest, one.pool, one.text, one.vector, SHOWN) for one in queries]
    found = [_found(store, client, one) for one in queries[:COMPARED]]
    memory = _memory_mb(pid)
    return {
        "search_p50_ms": percentile(times[WARM_UP:], 50),
        "search_p99_ms": percentile(times[WARM_UP:], 99),
        "recall_at_10": round(float(np.mean(found)), 3),
        "rss_mb": round(memory["Rss"]),
        "anonymous_mb": round(memory["Anonymous"]),
        "disk_mb": round(sum(one.stat().st_blocks * 512 for one in place.rglob("*") if one.is_file()) / 2**20),
    }


def _found(store: ServerStore, client: QdrantClient, query: Query) -> float:
    """The share of the nearest memories of a pool that a search finds."""
    where = models.Filter(must=[models.FieldCondition(key="pool", match=models.MatchValue(value=query.pool))])
    exact = client.query_points(
        ALIAS,
        query=query.vector.tolist(),
        using=DENSE,
        query_filter=where,
        limit=NEAREST,
        search_params=models.SearchParams(exact=True),
        with_payload=False,
    )
    hits = search_one(store, Where(pool=query.pool), NEAREST, dense=query.vector)
    return len({str(hit.memory.id) for hit in hits} & {str(point.id) for point in exact.points}) / NEAREST


def _memory_mb(pid: int) -> dict[str, float]:
    lines = (line.split() for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    return {words[0].rstrip(":"): int(words[1]) / 1024 for words in lines}


if __name__ == "__main__":
    typer.run(main)
