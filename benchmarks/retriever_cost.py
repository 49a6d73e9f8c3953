"""What one update of the retriever costs, in small pools and large ones; `benchmarks.retriever` reports it.

Ours is measured in stores of synthetic memories of both sizes that are open at the same time and take turns, so that
what else the machine does falls on both alike. An update is counted when it published a version: those that are held
out or refused cost less. The literal way's is one of its steps, and all memories encoded again.
No model is asked for labels, in either: it would take the same at any size.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path
from statistics import median

import redis
import torch

from benchmarks.literal import CANDIDATES, Literal, pair_text
from benchmarks.recall import BATCH, LAYOUT
from benchmarks.report import milliseconds, progress
from benchmarks.retriever_data import Oracle, Turned
from benchmarks.synthetic import DIMENSION, Synthetic
from memshare.broker.wire.lessons import Lesson, LessonTask
from memshare.memory_service.admit.lessons import Lessons
from memshare.memory_service.encoders.encoder import Encoder
from memshare.memory_service.memory import Memory
from memshare.memory_service.recall.recall import Recall, sparse_of
from memshare.memory_service.recall.retriever import Retriever
from memshare.memory_service.stores.edge_store import EdgeStore
from memshare.memory_service.stores.store import Vectors
from memshare.retriever_trainer.learn import Learn

SMALL, LARGE = 1_000, 100_000
WARM_UP = 60  # updates, which fill the replay and the held-out lessons
PUBLISHED, MOST = 100, 1_000  # updates that published, and all updates
SAMPLE = 10_000  # memories that the literal way encodes in place of `LARGE`
SIZES = (SMALL, SAMPLE, LARGE)
STEPS = 5  # of the literal way, of which the median counts

Costs = dict[int, float]
"""Milliseconds by the number of memories."""


def ours(folder: Path, client: redis.Redis, encoder: Encoder) -> tuple[Costs, Costs]:
    """The update that the trainer makes, and the same with the search for its candidates."""
    torch.set_num_threads(1)  # as the trainer's worker does
    sides = [_Side(folder / str(size), client, encoder, size) for size in (SMALL, LARGE)]
    try:
        for _ in progress(range(MOST), "Updating in both pools"):
            for side in sides:
                side.update()
            if all(len(side.published()) >= PUBLISHED for side in sides):
                break
        else:
            raise SystemExit(f"{MOST} updates published fewer than {PUBLISHED} versions.")
    finally:
        for side in sides:
            side.store.close()
    learning = {side.size: 1_000 * median(learnt for _, learnt in side.published()) for side in sides}
    return learning, {side.size: 1_000 * median(map(sum, side.published())) for side in sides}


class _Side:
    """A pool of one size, with its trainer."""

    def __init__(self, folder: Path, client: redis.Redis, encoder: Encoder, size: int) -> None:
        self.size = size
        self._world = Synthetic(seed=size)
        self.store = self._filled(folder)
        self._recall = Recall(self.store, encoder, Retriever(client, encoder))
        self._lessons, self._learn = Lessons(1.0), Learn(client, Turned(DIMENSION), kept=2_000, keep_days=1)
        self._taken: list[tuple[float, float] | None] = []

    def _filled(self, folder: Path) -> EdgeStore:
        """Written, closed and opened again, for the engine builds its index when it is opened."""
        store = EdgeStore.open(folder, LAYOUT, "benchmark")
        try:
            for start in progress(range(0, self.size, BATCH), f"Writing {self.size:,} memories"):
                batch = [
                    (self._of_pool(one), vector) for one, vector in self._world.memories(min(BATCH, self.size - start))
                ]
                store.put([(memory, Vectors(vector, sparse_of(memory))) for memory, vector in batch])
        finally:
            store.close()
        return EdgeStore.open(folder, LAYOUT, "benchmark")

    def _of_pool(self, memory: Memory) -> Memory:
        return memory.model_copy(update={"pool": f"pool-{self.size}"})

    def update(self) -> None:
        """One memory, as settling hands it to the trainer; it is not stored, so that the size stays."""
        [(memory, vector)] = self._world.memories(1)
        began = time.perf_counter()
        following = self._lessons.following(str(memory.id), self._recall, self._of_pool(memory), vector)
        found = time.perf_counter()
        if following is None or not isinstance(following.body, LessonTask):
            raise TypeError(f"expected a lesson for the memory {str(memory.id)!r}, found {following!r}")
        record = self._learn.run(following.body.journey, following.body).record
        ended = time.perf_counter()
        published = isinstance(record, Lesson) and record.version is not None
        self._taken.append((found - began, ended - found) if published else None)

    def published(self) -> list[tuple[float, float]]:
        """Seconds to find the candidates and to learn, of each update that counts."""
        return [seconds for seconds in self._taken[WARM_UP:] if seconds]


def literal(memories: Sequence[Memory], oracle: Oracle) -> Costs:
    """One step and the encoding of so many texts: those of the memories, over and over."""
    learner = Literal(seed=0)
    candidates = memories[:CANDIDATES]
    steps = [
        milliseconds(learner.learn, one, candidates, [oracle.contradiction(one.key, other.key) for other in candidates])
        for one in memories[CANDIDATES : CANDIDATES + STEPS]
    ]
    step, texts = median(steps), [pair_text(memory) for memory in memories]
    encoding = {
        size: sum(
            milliseconds(learner.encode, list(islice(cycle(texts), BATCH)))
            for _ in progress(range(0, size, BATCH), f"Encoding {size:,} memories")
        )
        for size in (SMALL, SAMPLE)
    }
    encoding[LARGE] = encoding[SAMPLE] * LARGE / SAMPLE
    return {size: step + taken for size, taken in encoding.items()}
