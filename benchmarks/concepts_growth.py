"""What it costs to add a memory to a graph of concepts, and whether forgetting is exact; `benchmarks.concepts` says.

Memories are made: 20 concepts each, a few of them in most memories and most of them in few, as in real pools (Zipf).
Each size runs in a process of its own, whose peak memory is the graph's.
"""

from __future__ import annotations

import multiprocessing
import resource
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from typing import NamedTuple
from uuid import UUID

import numpy as np

from benchmarks.report import milliseconds, percentile
from memshare_concepts.concept_graph import ConceptGraph
from memshare_concepts.extraction import Levels

CONCEPTS = 20
VOCABULARY = 2  # concepts for each memory
ADDED = 1000
FORGOTTEN = 200

SIZES = {4: 1, 3: 2, 2: 2, 1: 2, 0: 1, -1: 12}
"""How many concepts are of each level; the frequent ones are the general ones."""


class Growth(NamedTuple):
    """Of a memory that is added, with its vector, in milliseconds; and the peak of the process."""

    p50: float
    p99: float
    peak_mb: float


class Memories:
    """Made memories, by their number."""

    def __init__(self, size: int) -> None:
        self._frequency = np.cumsum(1 / np.arange(1, VOCABULARY * size + 1))
        self._frequency /= self._frequency[-1]

    def levels(self, number: int) -> Levels:
        """The concepts of one memory."""
        chance = np.random.default_rng(number)
        drawn = np.unique(np.searchsorted(self._frequency, chance.random(CONCEPTS * 2)))
        chosen = iter(np.sort(chance.permutation(drawn)[:CONCEPTS]).tolist())
        return {level: [f"Concept {one} of All" for one in islice(chosen, of)] for level, of in SIZES.items()}


def growth(size: int) -> Growth:
    """Add memories to a graph of `size`, in a process that ends."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        return process.submit(_growth, size).result()


def _growth(size: int) -> Growth:
    memories = Memories(size)
    graph = ConceptGraph({UUID(int=number): memories.levels(number) for number in range(size)})

    def add(memory: UUID, levels: Levels) -> None:
        graph.add(memory, levels)
        graph.memory_vector(memory)

    taken = [milliseconds(add, UUID(int=number), memories.levels(number)) for number in range(size, size + ADDED)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Growth(percentile(taken, 50), percentile(taken, 99), round(peak))


def forget_exact(size: int) -> bool:
    """Whether a graph from which memories were taken out is, to the last bit, the one that never had them."""
    memories = Memories(size)
    kept = {UUID(int=number): memories.levels(number) for number in range(size)}
    graph, never = ConceptGraph(kept), ConceptGraph(kept)
    for number in range(size, size + FORGOTTEN):
        graph.add(UUID(int=number), memories.levels(number))
        graph.memory_vector(UUID(int=number))
    if _bits(graph) == _bits(never):
        raise AssertionError("Adding changed nothing, so that forgetting proves nothing.")
    for number in range(size, size + FORGOTTEN):
        graph.forget(UUID(int=number))
    return _bits(graph) == _bits(never)


def _bits(graph: ConceptGraph) -> tuple[object, ...]:
    matrix = graph.matrix(graph.index.memories())
    names = graph.concepts()
    vectors = [graph.vector(name) for name in names]
    return names, vectors, matrix.data.tobytes(), matrix.indices.tobytes(), matrix.indptr.tobytes()
