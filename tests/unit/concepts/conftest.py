"""The bundled flashcards as a pool: their graph, their vectors by the real encoder, and their clusters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import numpy as np
import pytest
from filelock import FileLock
from numpy.typing import NDArray

from memshare_concepts.clusters import Clusters
from memshare_concepts.concept_graph import ConceptGraph
from memshare_concepts.flashcards import flashcards
from memshare_concepts.names import key
from memshare_memory.encoders.sentence_encoder import SentenceTransformerEncoder
from tests.support.clusters import find_clusters


class FlashcardPool(NamedTuple):
    memories: list[UUID]
    vectors: NDArray[np.float32]
    graph: ConceptGraph
    clusters: Clusters
    encode: Callable[[Sequence[str]], NDArray[np.float32]]
    """Of names of the graph alone: each was encoded once."""


@pytest.fixture(scope="session")
def flashcard_pool(exports: Path) -> FlashcardPool:
    memories = [UUID(int=number) for number in range(len(flashcards()))]
    graph = ConceptGraph({memory: card.concepts.levels() for memory, card in zip(memories, flashcards(), strict=True)})
    vectors, meanings = _vectors(graph.concepts(), exports.with_name("flashcards.npz"))
    clusters = find_clusters(graph, memories, vectors)
    return FlashcardPool(
        memories, vectors, graph, clusters, lambda names: np.stack([meanings[key(one)] for one in names])
    )


def _vectors(named: Sequence[str], file: Path) -> tuple[NDArray[np.float32], dict[str, NDArray[np.float32]]]:
    """Those of the prompts, and of each name by its key. The first test process encodes them, and the others read."""
    with FileLock(file.with_suffix(".lock")):
        if not file.exists():
            encoder = SentenceTransformerEncoder(None, device="cpu")
            prompts = encoder.encode([card.prompt for card in flashcards()])
            aside = file.with_name(f"aside-{file.name}")
            np.savez(aside, prompts=prompts, keys=[key(one) for one in named], names=encoder.encode(named))
            aside.rename(file)
    with np.load(file) as found:
        return found["prompts"], dict(zip(found["keys"].tolist(), found["names"], strict=True))
