"""What `memshare concepts show` prints is what docs/concepts.md says that it prints."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from memshare.cli.concepts.show import show_concept, show_memory
from memshare.terminal.ids import concept_names
from memshare_concepts.concept_graph import ConceptGraph
from memshare_concepts.decisions import Aliases
from memshare_concepts.flashcards import flashcard_memories
from memshare_concepts.pool_graph import PoolConcepts, levels_of
from memshare_memory.memory import Memory
from tests.support.memories import remembered

PAGE = Path(__file__).parents[4] / "docs" / "concepts.md"


def concepts_of(memories: Sequence[Memory]) -> PoolConcepts:
    by_id = {one.id: one for one in sorted(memories, key=lambda one: one.id)}
    graph = ConceptGraph({one: levels_of(memory) for one, memory in by_id.items()})
    return PoolConcepts("flashcards", graph, by_id, 0, Aliases(), None)


def test_the_page_has_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    block = re.search(r"```\n\$ memshare concepts show patents [^\n]*\n(.*?)\n```", PAGE.read_text(), re.DOTALL)

    show_concept(concepts_of(flashcard_memories("flashcards")), "patents", 3, as_json=False)

    assert block
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == block[1].splitlines()


def test_json_has_all_that_a_memory_is_about(capsys: pytest.CaptureFixture[str]) -> None:
    pool = concepts_of(flashcard_memories("flashcards", 40))
    memory = pool.ids[0]

    show_memory(pool, memory, 3, as_json=True)

    found = json.loads(capsys.readouterr().out)
    assert found["topic"] == pool.graph.topic(memory)
    assert found["levels"] == pool.graph.levels(memory)
    assert found["counts"].keys() == found["levels"].keys()
    assert found["vector"] == pool.graph.memory_vector(memory)


def test_a_concept_on_two_levels_is_named_once() -> None:
    memory = remembered("A lamp", concepts={"0": ("Lamp", "Light"), "4": ("Physics", "Light")})[0]

    assert concept_names(memory) == ["Lamp", "Light", "Physics"]
