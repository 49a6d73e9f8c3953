"""A model sums up a cluster: each sentence rests on memories that it was given."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest

from memshare_concepts.clusters import Cluster, Topic
from memshare_concepts.concept_graph import ConceptGraph
from memshare_concepts.pool_graph import levels_of
from memshare_concepts.quoting import LONGEST, MOST_CHARACTERS
from memshare_concepts.summaries import MOST_READ, ClusterSummary, reading, summarise
from memshare_llm.structured import DoesNotFit
from memshare_memory.memory import Memory
from tests.support.memories import remembered
from tests.support.scripted_chat import ScriptedChat

NOW = 1.7e9


def about(*subjects: str, answer: str = "It floats. And more.") -> Memory:
    levels = {"-1": subjects, "0": ("Sea",)}
    return remembered(f"What of {' and '.join(subjects)}?", pool="plan", answer=answer, concepts=levels)[0]


SAIL, MAST, TIDE = about("Boat", "Sail"), about("Boat", "Mast"), about("Tide")


def cluster_of(*memories: Memory) -> tuple[ConceptGraph, Cluster, dict[UUID, Memory]]:
    graph = ConceptGraph({one.id: levels_of(one) for one in memories})
    ids = tuple(sorted(one.id for one in memories))
    return graph, Cluster(3, 0, ids, (Topic("Boat", 1, 2),), None, ()), {one.id: one for one in memories}


def written(*sentences: tuple[str, list[str]]) -> dict[str, Any]:
    return {"sentences": [{"text": text, "cites": cites} for text, cites in sentences]}


def test_each_sentence_names_the_memories_that_it_rests_on() -> None:
    graph, cluster, memories = cluster_of(SAIL, MAST, TIDE)
    read = reading(graph, cluster, memories)
    chat = ScriptedChat(written(("A boat floats.", ["memory_1", "memory_2", "memory_1"]), ("So.", ["memory_3"])))

    said = summarise(chat, cluster, read, NOW)

    assert [one.text for one in said.sentences] == ["A boat floats.", "So."]
    assert [one.cites for one in said.sentences] == [(read[0].id, read[1].id), (read[2].id,)]
    assert (set(said.read), said.members, said.model, said.made) == (set(memories), cluster.memories, "scripted", NOW)
    assert len(chat.conversations) == 1
    asked = json.loads(chat.conversations[0][-1].content)
    assert (asked["field"], asked["topics"]) == ("Boat", ["Boat"])
    assert [one["prompt"] for one in asked["memories"].values()] == [one.prompt for one in read]
    assert ClusterSummary.model_validate_json(said.model_dump_json()) == said


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (written(("So.", ["memory_4"])), "memory_3"),
        (written(("So.", [str(SAIL.id)])), "memory_3"),
        (written(("So.", [])), "at least 1"),
        (written(), "at least 1"),
    ],
)
def test_what_cites_nothing_or_something_else_goes_back_once_and_is_then_refused(
    reply: dict[str, Any], why: str
) -> None:
    graph, cluster, memories = cluster_of(SAIL, MAST, TIDE)
    read = reading(graph, cluster, memories)
    mended = ScriptedChat(reply, written(("A boat floats.", ["memory_1"])))
    chat = ScriptedChat(reply, reply)

    assert summarise(mended, cluster, read, NOW).sentences[0].cites == (read[0].id,)
    with pytest.raises(DoesNotFit, match="sentences"):
        summarise(chat, cluster, read, NOW)
    assert why in chat.conversations[1][-1].content


def test_of_a_large_cluster_the_most_typical_memories_are_read_and_no_prompt_is_too_long() -> None:
    many = [about("Boat", f"Part {number}") for number in range(MOST_READ + 20)]
    odd = about("Whale")
    assert len(reading(*cluster_of(*many, odd))) == MOST_READ
    assert odd not in reading(*cluster_of(*many, odd))

    long = [about("Boat", f"Part {number}", answer="x" * 3 * LONGEST) for number in range(MOST_READ)]
    graph, cluster, memories = cluster_of(*long)
    read = reading(graph, cluster, memories)
    chat = ScriptedChat(written(("So.", ["memory_1"])))
    said = summarise(chat, cluster, read, NOW)

    assert 5 < len(said.read) < len(said.members) == MOST_READ
    assert len(chat.conversations[0][-1].content) < MOST_CHARACTERS * 1.1
    huge = about("Boat", answer="x" * 100_000)
    assert reading(*cluster_of(huge)) == [huge]
