"""The bundled flashcards as a pool: their graph, their vectors by the real encoder, and their clusters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple
from uuid import UUID

import numpy as np
import pytest
from numpy.typing import NDArray

from memshare.concepts.clusters import Clusters, find_clusters
from memshare.concepts.flashcards import flashcards
from memshare.concepts.graph.concept_graph import ConceptGraph
from memshare.concepts.names import key
from memshare.memory_service.encoders.sentence_encoder import SentenceTransformerEncoder


class FlashcardPool(NamedTuple):
    memories: list[UUID]
    vectors: NDArray[np.float32]
    graph: ConceptGraph
    clusters: Clusters
    encode: Callable[[Sequence[str]], NDArray[np.float32]]
    """Of names of the graph alone: each was encoded once."""


@pytest.fixture(scope="session")
def flashcard_pool() -> FlashcardPool:
    encoder = SentenceTransformerEncoder(None, device="cpu")
    memories = [UUID(int=number) for number in range(len(flashcards()))]
    vectors = np.asarray(encoder.encode([card.prompt for card in flashcards()]))
    graph = ConceptGraph({memory: card.concepts.levels() for memory, card in zip(memories, flashcards(), strict=True)})
    clusters = find_clusters(graph, memories, vectors)
    named = graph.concepts()
    meanings = dict(zip(map(key, named), np.asarray(encoder.encode(named)), strict=True))
    return FlashcardPool(
        memories, vectors, graph, clusters, lambda names: np.stack([meanings[key(one)] for one in names])
    )
