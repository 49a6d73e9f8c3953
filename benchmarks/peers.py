"""Adding and searching beside mem0 2.x, on the same vectors: `python -m benchmarks.peers`.

mem0 as it comes (`pip install mem0ai`): its default store, Qdrant's local mode in a folder, and its SQLite history; its
embedder is replaced by one that looks vectors up, so no model's time is measured; `infer=False`, so none is asked.
- mem0 add: copies the metadata, hashes the text, writes the point to a SQLite file and to arrays in memory, and a line
  of history to a second SQLite file; a commit for each of the two, which waits for the disk.
- our add: makes the BM25 vector (mem0 without its extras has none) and writes both vectors and the payload to the
  engine's log, as `settle` does, one memory at a time. The log is handed to the system, not awaited; every 1,000
  writes a flush is, and is counted. A kill loses nothing on either side; a loss of power may cost us what followed
  the last flush, and mem0 nothing. `batch` writes a round's memories at once, as an import does.
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
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer
from numpy.typing import NDArray

from benchmarks.mem0_store import Mem0, text_of
from benchmarks.report import aim, print_figures, progress
from benchmarks.synthetic import DIMENSION, Query, Synthetic
from memshare.console import errors
from memshare.memory_service.memory import Memory
from memshare.memory_service.recall.recall import SPARE, sparse_of
from memshare.memory_service.recall.select_shown import choose
from memshare.memory_service.stores.edge_store import EdgeStore
from memshare.memory_service.stores.store import Layout, Vectors, Where

AIM = 10.0
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
    with tempfile.TemporaryDirectory(prefix="memshare-bench-") as name:
        theirs = Mem0(Path(name) / "mem0", known)
        ours = EdgeStore.open(Path(name) / "ours", layout, "benchmark")
        batches = EdgeStore.open(Path(name) / "batches", layout, "benchmark")
        try:
            figures = _measure(theirs, ours, batches, rounds, asked)
        finally:
            for side in (theirs, ours, batches):
                side.close()
    notes = [aim(name, figures[name], AIM, "times") for name in ("add_ratio", "search_ratio")]
    print_figures(f"Beside mem0, {memories:,} memories", figures, as_json=as_json, notes=notes)


def _measure(
    theirs: Mem0, ours: EdgeStore, batches: EdgeStore, rounds: Sequence[Pairs], asked: Sequence[Sequence[Query]]
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
    for queries in progress(asked, "Searching"):
        turn("mem0_searches_per_second", partial(theirs.search, limit=WANTED), queries, len(queries))
        turn("searches_per_second", partial(_search, ours), queries, len(queries))
    figures: dict[str, Any] = {name: round(median(values), 1) for name, values in rates.items()}
    for name, mine, other in (
        ("add_ratio", "adds", "mem0_adds"),
        ("batch_add_ratio", "batch_adds", "mem0_adds"),
        ("search_ratio", "searches", "mem0_searches"),
    ):
        pairs_of_rates = zip(rates[f"{mine}_per_second"], rates[f"{other}_per_second"], strict=True)
        figures[name] = round(median(one / two for one, two in pairs_of_rates), 2)
    return figures


def _add(ours: EdgeStore, pairs: Pairs) -> None:
    ours.put([(memory, Vectors(vector, sparse_of(memory))) for memory, vector in pairs])


def _search(ours: EdgeStore, query: Query) -> list[Any]:
    hits = ours.search(Where(pool=query.pool, status="active"), WANTED * SPARE, dense=query.vector)
    return choose(hits, WANTED, WANTED)


if __name__ == "__main__":
    typer.run(main)
