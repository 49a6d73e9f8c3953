"""The concepts of a pool as they are now: read from the memory service, with the merges that people made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

import numpy as np
import redis
from numpy.typing import NDArray

from memshare_broker.wire.messages import Embedding
from memshare_concepts.concept_graph import ConceptGraph, intersection
from memshare_concepts.decisions import Aliases, Decisions
from memshare_concepts.extraction import Levels
from memshare_memory.door.client import MemoryClient
from memshare_memory.door.messages import LONGEST_PAGE
from memshare_memory.memory import Memory
from memshare_memory.stores.store import Where, pages


@dataclass(frozen=True)
class PoolConcepts:
    """A pool's graph of concepts, and what it was made of.

    Hidden and stale memories are in none of it, nor are those whose concepts are not known yet.
    """

    pool: str
    graph: ConceptGraph
    memories: dict[UUID, Memory]  # the memories of the graph, in the order of their ids
    without: int  # how many others of the pool could be in it, once their concepts are known
    aliases: Aliases
    found_by: NDArray[np.float32] | None  # the vectors of the memories, where they were asked for

    @property
    def ids(self) -> list[UUID]:
        return list(self.memories)

    @property
    def vectors(self) -> NDArray[np.float32]:
        """The vectors that the memories are found by, of shape (memories, dimension) and length 1, in their order."""
        if self.found_by is None:
            raise ValueError("The vectors were not loaded: load the pool with vectors=True.")
        return self.found_by


def load(memory: MemoryClient, client: redis.Redis, pool: str, *, vectors: bool = False) -> PoolConcepts:
    """Read the concepts of a pool; with `vectors`, the vectors of its memories as well."""
    memories: dict[UUID, Memory] = {}
    without = 0
    where = Where(pool=pool, status="active")
    for page in pages(lambda after: memory.page(where, LONGEST_PAGE, after)):
        known = {each.id: each for each in page.memories if each.concepts}
        without += len(page.memories) - len(known)
        memories |= known
    found_by = None
    if vectors:
        there, found_by = vectors_of(memory, memories.values())
        memories = {each.id: each for each in there}
    aliases = Decisions(client, pool).aliases()
    graph = ConceptGraph({name: levels_of(what) for name, what in memories.items()}, key=aliases.key)
    return PoolConcepts(pool, graph, memories, without, aliases, found_by)


def vectors_of(memory: MemoryClient, memories: Iterable[Memory]) -> tuple[list[Memory], NDArray[np.float32]]:
    """Memories with their vectors, of shape (memories, dimension); without those that were forgotten meanwhile."""
    wanted = list(memories)
    packed = memory.vectors([each.id for each in wanted])
    there = [each for each in wanted if each.id in packed]
    return there, _rows([packed[each.id] for each in there])


def levels_of(memory: Memory) -> Levels:
    """The concepts of a memory as the graph takes them."""
    return {int(level): names for level, names in memory.concepts.items()}


def encode(memory: MemoryClient, texts: Sequence[str]) -> NDArray[np.float32]:
    """The vectors of texts, such as names of concepts, by the encoder in use: of shape (texts, dimension), length 1."""
    return _rows(memory.embed_each(texts))


def _rows(packed: Sequence[Embedding]) -> NDArray[np.float32]:
    return np.stack([embedding.unpack() for embedding in packed]) if packed else np.empty((0, 0), np.float32)


class Common(NamedTuple):
    """The intersection of some concepts; empty where they share no name.

    `vector` has the names with weights that sum to 1, the largest first; `memories` those that share any of these
    names, with their similarity to the vector, from 0 to 1, the most similar first.
    """

    vector: dict[str, float]
    memories: list[tuple[UUID, float]]


def in_common(concepts: PoolConcepts, names: Sequence[str]) -> Common:
    """The intersection of the vectors of concepts (`memshare_concepts.concept_graph.intersection`)."""
    graph = concepts.graph
    vectors = [graph.vector(name) for name in names]
    if not set(vectors[0]).intersection(*vectors[1:]):
        return Common({}, [])  # the mean of the vectors would say what they are, and not what they share
    vector = intersection(vectors)
    roots = np.sqrt([vector.get(name, 0.0) for name in graph.concepts()])
    similarities = graph.matrix(concepts.ids) @ roots
    best = np.argsort(-similarities, kind="stable")
    return Common(vector, [(concepts.ids[at], float(similarities[at])) for at in best if similarities[at] > 0])
