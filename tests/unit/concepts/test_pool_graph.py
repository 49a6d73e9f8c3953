"""The concepts of a pool are read at the real door of a memory service, with what people decided on them in Redis."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
import redis

from memshare_concepts.concept_graph import ConceptGraph
from memshare_concepts.decisions import Decisions, Merge, similar_id
from memshare_concepts.open_questions import Gap
from memshare_concepts.pool_graph import PoolConcepts, encode, levels_of, load
from memshare_memory.curate.requests import Forget
from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import Memory
from tests.support.memories import remembered
from tests.support.word_encoder import WordEncoder

AT = datetime(2026, 5, 1, tzinfo=UTC)


def about(topic: str, *subjects: str, pool: str = "physics", **fields: object) -> Memory:
    prompt = f"What is {topic}?"
    levels = {"-1": subjects, "0": (topic,), "4": ("Science",)}
    return remembered(prompt, pool=pool, concepts=levels, **fields)[0]


def same(one: PoolConcepts, other: PoolConcepts) -> bool:
    return (one.memories, one.graph.concepts()) == (other.memories, other.graph.concepts()) and all(
        one.graph.memory_vector(memory) == other.graph.memory_vector(memory) for memory in one.ids
    )


def test_the_graph_is_made_of_the_active_memories_of_its_pool(memory: MemoryClient, redis_client: redis.Redis) -> None:
    memories = [about("Photon", "Light"), about("Electron", "Charge", "Light")]
    others = [
        about("Secret", status="hidden"),
        about("Old News", status="stale"),
        about("Metre", pool="poem"),
        remembered("What has no concepts yet?", pool="physics")[0],
    ]
    memory.restore([*memories, *others])

    found = load(memory, redis_client, "physics")

    assert set(found.graph.concepts()) == {"Photon", "Electron", "Light", "Charge", "Science"}
    assert found.ids == sorted(one.id for one in memories)
    assert found.graph.memories("light") == found.ids
    assert found.without == 1
    with pytest.raises(ValueError, match="vectors=True"):
        _ = found.vectors


def test_vectors_are_those_that_the_memories_are_found_by(
    memory: MemoryClient, redis_client: redis.Redis, encoder: WordEncoder
) -> None:
    memory.restore([about(f"Lamp {number}") for number in range(300)])

    found = load(memory, redis_client, "physics", vectors=True)

    prompts = [str(one.prompt) for one in found.memories.values()]
    assert found.vectors.shape == (300, encoder.dimension)
    assert np.allclose(found.vectors, encoder.encode(prompts), atol=1e-6)
    assert np.allclose(encode(memory, ["Lamp", "Sea"]), encoder.encode(["Lamp", "Sea"]))


def test_a_forgotten_memory_leaves_nothing_behind(memory: MemoryClient, redis_client: redis.Redis) -> None:
    first, second, third = about("Photon", "Light"), about("Electron", "Light"), about("Wave", "Light", "Sea")
    memory.restore([first, second])
    before = load(memory, redis_client, "physics", vectors=True)
    memory.restore([third])
    assert not same(load(memory, redis_client, "physics", vectors=True), before)

    memory.forget(Forget(ids=(third.id,)))

    assert same(load(memory, redis_client, "physics", vectors=True), before)


def test_a_merge_holds_until_it_is_taken_back(memory: MemoryClient, redis_client: redis.Redis) -> None:
    memories = [about("Photon"), about("Light Quantum"), about("Quantum of Light"), about("Wave", "Light Quantum")]
    memory.restore(memories)
    decisions = Decisions(redis_client, "physics")
    before = load(memory, redis_client, "physics")

    decisions.merge(Merge(of="Light Quantum", into="Photon", at=AT, by="ada"))
    decisions.merge(Merge(of="Quantum of Light", into="light quantum", at=AT, by="ada"))
    merged = load(memory, redis_client, "physics")
    assert merged.graph.count("Photon") == 4
    assert "Photon" in merged.graph.concepts()  # though more memories spell it otherwise
    by_hand = ConceptGraph({one.id: levels_of(one) for one in memories}, key=merged.aliases.key)
    assert merged.graph.concepts() == by_hand.concepts()
    assert Decisions(redis_client, "poem").aliases().merges() == ()

    with pytest.raises(ValueError, match="one concept already"):
        decisions.merge(Merge(of="Photon", into="Quantum of Light", at=AT, by="ada"))
    assert decisions.split("light quantum").of == "Light Quantum"
    assert load(memory, redis_client, "physics").graph.count("Photon") == 1
    decisions.split("Quantum of Light")
    assert same(load(memory, redis_client, "physics"), before)
    with pytest.raises(ValueError, match="was not merged"):
        decisions.split("Photon")


def test_a_gap_stays_dismissed_until_it_is_brought_back(redis_client: redis.Redis) -> None:
    decisions = Decisions(redis_client, "physics")
    gap = Gap("unexplained", ("Aether",), 1.0, "Two memories name it.", ())

    decisions.dismiss(gap.id, gap.names, AT, "ada")

    assert decisions.dismissed().keys() == {gap.id}
    assert decisions.dismissed()[gap.id].names == ("Aether",)
    assert Decisions(redis_client, "poem").dismissed() == {}
    assert decisions.bring_back(gap.id)
    assert not decisions.bring_back(gap.id)


def test_names_that_a_person_keeps_apart_stay_so_until_they_are_merged(redis_client: redis.Redis) -> None:
    decisions = Decisions(redis_client, "physics")

    decisions.keep_apart("Light Quanta", "Photon", AT, "ada")
    assert decisions.dismissed().keys() == {similar_id("photons", "light quanta")}
    decisions.merge(Merge(of="Light Quanta", into="Photon", at=AT, by="ada"))

    assert decisions.dismissed() == {}
