"""Adding and searching beside mem0 2.x, on the same vectors: `python -m benchmarks.peers`.

mem0 as it comes (`pip install mem0ai`): its default store, Qdrant's local mode in a folder, and its SQLite history; its
embedder is replaced by one that looks vectors up, so no model's time is measured; `infer=False`, so none is asked.
- mem0 add: copies the metadata, hashes the text, writes the point to a SQLite file and to arrays in memory, and a line
  of history to a second SQLite file; a commit for each of the two, which waits for the disk.
- our add: makes the BM25 vector (mem0 without its extras has none) and writes both vectors and the payload to the
  engine's log, as `settle` does, one memory at a time. The log is handed to the system, not awaited; every 10,000
  writes a flush is, and is counted. A kill loses nothing on either side; a loss of power may cost us what followed
  the last flush, and mem0 nothing. `batch` writes a round's memories at once.
- our import: `Curate.restore` of a round's memories, as `memshare memories import` asks for: it looks for those that
  are there, enters the gate in Redis, writes in batches of 256, and notes the seeds. mem0 has no import without a
  model, so it is compared with mem0's add.
- search, mem0's `Memory.search` and our `EdgeStore.search`: both filter by pool (mem0: `user_id`) and status, take more
  candidates than are wanted (mem0 60, we 20), and give the best ten as objects. mem0 compares in numpy and filters in
  Python, we in the engine, without a vector index: at this size none is built.
Its telemetry, and the notices that come with it, are off: nothing leaves the machine. The median of five rounds is
reported, in which the sides take turns.
"""

from __future__ import annotations

import importlib.util
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import numpy as np
import redis
import typer
from numpy.typing import NDArray

from benchmarks.mem0_store import Mem0, text_of
from benchmarks.report import aim, print_figures, progress
from benchmarks.synthetic import DIMENSION, Query, Synthetic
from memshare.operate.data_folder import connected
from memshare.terminal.console import errors
from memshare_broker.settings import Settings
from memshare_memory.curate.curate import Curate
from memshare_memory.memory import Memory
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.batch import CANDIDATES_RANKED, choose
from memshare_memory.recall.recall import Recall, sparse_of
from memshare_memory.recall.retriever import Retriever
from memshare_memory.stores.edge_store import EdgeStore
from memshare_memory.stores.store import Layout, Vectors, Where, search_one

AIMS = {"add_ratio": 15.0, "import_ratio": 50.0, "search_ratio": 40.0}
ROUNDS, QUERIES = 5, 40  # queries of a round
WANTED = 10

Pairs = Sequence[tuple[Memory, NDArray[Any]]]


def main(
    memories: Annotated[int, typer.Option(min=ROUNDS, help="Memories on each side.")] = 5_000,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document in place of tables.")] = False,
) -> None:
    """Measure both sides in turns, and print the figures."""
    if importlib.util.find_spec("mem0") is None:
        errors.print("mem0 is not installed: pip install 'memshare[bench]'", markup=False)
        raise typer.Exit(1)
    world = Synthetic()
    rounds = [world.memories(memories // ROUNDS) for _ in range(ROUNDS)]
    asked = [world.queries(QUERIES) for _ in range(ROUNDS)]
    known = {text_of(memory): vector.tolist() for pairs in rounds for memory, vector in pairs}
    known |= {query.text: query.vector.tolist() for queries in asked for query in queries}
    layout = Layout(encoder="synthetic", dimension=DIMENSION)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="memshare-bench-")))
        client = stack.enter_context(connected(Settings(data=folder, redis_url=None)))
        theirs = stack.enter_context(closing(Mem0(folder / "mem0", known)))
        ours, batches, imports = (
            stack.enter_context(closing(EdgeStore.open(folder / name, layout, "benchmark")))
            for name in ("ours", "batches", "imports")
        )
        curate = _curate(imports, client, rounds)
        figures = _measure(theirs, ours, batches, curate, rounds, asked)
    notes = [aim(name, figures[name], wanted, "times") for name, wanted in AIMS.items()]
    print_figures(f"Beside mem0, {memories:,} memories", figures, as_json=as_json, notes=notes)


def _measure(
    theirs: Mem0,
    ours: EdgeStore,
    batches: EdgeStore,
    imports: Curate,
    rounds: Sequence[Pairs],
    asked: Sequence[Sequence[Query]],
) -> dict[str, Any]:
    rates: dict[str, list[float]] = {}

    def turn(name: str, work: Callable[[Any], object], parts: Sequence[Any], count: int) -> None:
        started = time.perf_counter()
        for part in parts:
            work(part)
        rates.setdefault(name, []).append(count / (time.perf_counter() - started))

    for pairs in progress(rounds, "Adding"):
        turn("mem0_adds_per_second", theirs.add, [memory for memory, _ in pairs], len(pairs))
        turn("adds_per_second", partial(_add, ours), [[pair] for pair in pairs], len(pairs))
        turn("batch_adds_per_second", partial(_add, batches), [pairs], len(pairs))
        turn("imports_per_second", imports.restore, [[memory for memory, _ in pairs]], len(pairs))
    for queries in progress(asked, "Searching"):
        turn("mem0_searches_per_second", partial(theirs.search, limit=WANTED), queries, len(queries))
        turn("searches_per_second", partial(_search, ours), queries, len(queries))
    figures: dict[str, Any] = {name: round(median(values), 1) for name, values in rates.items()}
    for name, mine, other in (
        ("add_ratio", "adds", "mem0_adds"),
        ("batch_add_ratio", "batch_adds", "mem0_adds"),
        ("import_ratio", "imports", "mem0_adds"),
        ("search_ratio", "searches", "mem0_searches"),
    ):
        pairs_of_rates = zip(rates[f"{mine}_per_second"], rates[f"{other}_per_second"], strict=True)
        figures[name] = round(median(one / two for one, two in pairs_of_rates), 2)
    return figures


class _KnownVectors:
    """An encoder that looks up what was made before."""

    name, dimension = "synthetic", DIMENSION

    def __init__(self, vectors: dict[str, NDArray[np.float32]]) -> None:
        self._vectors = vectors

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([self._vectors[text] for text in texts])


def _curate(store: EdgeStore, client: redis.Redis, rounds: Sequence[Pairs]) -> Curate:
    encoder = _KnownVectors({memory.key: vector for pairs in rounds for memory, vector in pairs})
    recall = Recall(store, encoder, Retriever(client, encoder))
    return Curate(Pool(client, recall, lambda _: recall), client)


def _add(ours: EdgeStore, pairs: Pairs) -> None:
    ours.put([(memory, Vectors(vector, sparse_of(memory))) for memory, vector in pairs])


def _search(ours: EdgeStore, query: Query) -> list[Any]:
    hits = search_one(ours, Where(pool=query.pool, status="active"), CANDIDATES_RANKED, dense=query.vector)
    return choose(hits, WANTED, WANTED)


if __name__ == "__main__":
    typer.run(main)
