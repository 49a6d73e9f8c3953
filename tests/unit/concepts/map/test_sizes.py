from __future__ import annotations

from base64 import b64decode
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest

from memshare_concepts.cluster_cache import FOLDER
from memshare_concepts.concept_graph import ConceptGraph
from memshare_concepts.decisions import Aliases
from memshare_concepts.map.page import MOST, clusters_around, similarities
from memshare_concepts.pool_graph import PoolConcepts
from memshare_memory.memory import Memory
from tests.support.clusters import find_clusters


def pool(count: int) -> PoolConcepts:
    """Memories of twelve groups, each with a direction of its own."""
    memories = [Memory(id=UUID(int=at), pool="p", prompt=f"{at}", answer="a", created=1.7e9) for at in range(count)]
    graph = ConceptGraph({one.id: {0: [f"Topic {one.id.int}"], 1: [f"Group {one.id.int % 12}"]} for one in memories})
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(12, 32))[np.arange(count) % 12] + rng.normal(size=(count, 32)) / 4
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return PoolConcepts("p", graph, {one.id: one for one in memories}, 0, Aliases(), vectors.astype(np.float32))


def test_a_map_has_the_size_that_was_asked_for_and_others_that_are_kept_for_the_next_command(tmp_path: Path) -> None:
    concepts = pool(240)

    found = clusters_around(concepts, tmp_path, 10)

    assert 10 in found
    assert len(found) > 1
    assert all(2 <= size <= 120 for size in found)
    alone = find_clusters(concepts.graph, concepts.ids, concepts.vectors, size=10)
    assert found[10].levels() == alone.levels(), "numbers on the map are those of `concepts clusters`"
    deepest = [frozenset(one.memories for one in clusters.levels()[-1]) for clusters in found.values()]
    assert len(set(deepest)) == len(deepest)
    assert len(list((tmp_path / FOLDER).iterdir())) >= len(found)


def test_a_byte_for_each_pair_says_how_alike_two_memories_are() -> None:
    concepts = pool(30)

    found = similarities(concepts)

    row = np.frombuffer(b64decode(found.rows[concepts.ids[25]]), np.uint8)
    assert len(row) == 25
    value = found.low + row[13] / 255 * (1 - found.low)  # 13 and 25 are of one group
    cosine = float(concepts.vectors[25] @ concepts.vectors[13])
    shared = concepts.graph.matrix([concepts.ids[25], concepts.ids[13]])
    expected = (cosine + 0.5 * (shared @ shared.T).toarray()[0, 1]) / 1.5
    assert value == pytest.approx(expected, abs=(1 - found.low) / 255)
    assert row[13] > row[14]


def test_of_a_large_pool_the_same_sample_is_compared_each_time() -> None:
    concepts = pool(MOST + 50)

    first, second = similarities(concepts), similarities(concepts)

    assert len(first.rows) == MOST
    assert first.rows.keys() == second.rows.keys()
    assert first.rows.keys() < concepts.memories.keys()
