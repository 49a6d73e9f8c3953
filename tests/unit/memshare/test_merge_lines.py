"""Merges of concepts in exported files: the graph of the imported pool is that of the exported one."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
import redis

from memshare.files.merge_lines import MergeLine, adopt, merge_lines, names_of
from memshare_broker.settings import Settings
from memshare_concepts.aliases import Merge
from memshare_concepts.decisions import Decisions
from memshare_concepts.flashcards import flashcard_memories
from memshare_concepts.graph.concept_graph import ConceptGraph
from memshare_concepts.pool_graph import load
from memshare_memory.curate.requests import Forget
from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import Memory
from tests.support.memories import remembered
from tests.support.terminal import Terminal

POOL = "cards"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def terminal(settings: Settings, memory: MemoryClient, tmp_path: Path) -> Terminal:
    memory.stats()
    terminal = Terminal(tmp_path)
    terminal.environment["MEMSHARE_REDIS_URL"] = settings.redis
    return terminal


def decided(client: redis.Redis, *pairs: tuple[str, str], pool: str = POOL) -> Decisions:
    """The decisions on a pool, in which these names were merged."""
    decisions = Decisions(client, pool)
    for of, into in pairs:
        decisions.merge(Merge(of=of, into=into, at=NOW, by="merger-1"))
    return decisions


def lines(*pairs: tuple[str, str], pool: str = POOL) -> list[MergeLine]:
    return [MergeLine(pool=pool, merge=of, into=into) for of, into in pairs]


def with_concepts(*names: str, prompt: str = "A lamp", pool: str = POOL) -> Memory:
    return remembered(prompt, pool=pool, concepts={"0": names})[0]


def merged(client: redis.Redis, pool: str = POOL) -> list[tuple[str, str, str]]:
    return [(one.of, one.into, one.by) for one in Decisions(client, pool).aliases().merges()]


def same(one: ConceptGraph, other: ConceptGraph) -> bool:
    names = one.concepts()
    return names == other.concepts() and all(
        one.count(name) == other.count(name)
        and one.memories(name) == other.memories(name)
        and one.vector(name) == other.vector(name)
        for name in names
    )


def test_the_graph_of_an_imported_pool_is_that_of_the_exported_one_merges_and_all(
    terminal: Terminal, memory: MemoryClient, redis_client: redis.Redis, tmp_path: Path
) -> None:
    memory.restore(flashcard_memories(POOL, 120))
    before = load(memory, redis_client, POOL).graph
    names = sorted(before.concepts(), key=lambda name: (-before.count(name), name))
    decided(redis_client, (names[9], names[8]), (names[8], names[5]), (names[30], names[31]))
    exported = load(memory, redis_client, POOL).graph
    file = tmp_path / "cards.jsonl"

    written = terminal.json("memories", "export", str(file), "--pool", POOL)
    memory.forget(Forget(ids=tuple(one.id for one in flashcard_memories(POOL, 120))))
    redis_client.delete(*redis_client.keys("memshare:concepts:*"))
    read = terminal.json("memories", "import", str(file), "--new-pool")
    again = terminal.json("memories", "import", str(file))

    assert (written["exported"], written["merges"]) == (120, 3)
    assert read["merges"] == {"made": 3, "there": 0, "refused": [], "without_memory": 0}
    assert again["merges"] == {"made": 0, "there": 3, "refused": [], "without_memory": 0}
    imported = load(memory, redis_client, POOL).graph
    assert same(exported, imported)
    assert not same(before, imported), "the merges change the graph"
    assert "merger-1" not in file.read_text(), "who merged does not travel"


def test_what_people_decided_here_stands_and_what_was_not_merged_is_said(
    terminal: Terminal, redis_client: redis.Redis, memory: MemoryClient, tmp_path: Path
) -> None:
    decisions = decided(redis_client, ("Net", "Mesh"))
    decisions.keep_apart("Sea", "Lake", NOW, "ada")
    card = with_concepts("Net", "Sea", "Boat", "Poem")
    found = lines(("net", "Network"), ("Sea", "Lake"), ("Boat", "Ship"), ("Boat", "Car"), ("Ship", "BOAT"))
    unused = lines(("Moon", "Star"), *[("Poem", "Verse")]) + lines(("Net", "Network"), pool="other")
    file = tmp_path / "cards.jsonl"
    file.write_text("".join(one.model_dump_json() + "\n" for one in (card, *found, *unused)))

    said = terminal.run("memories", "import", str(file), "--new-pool").stdout

    assert [(of, into) for of, into, _ in merged(redis_client)] == [
        ("Net", "Mesh"), ("Boat", "Ship"), ("Poem", "Verse")
    ]  # fmt: skip
    assert "2 merges made, which `memshare concepts split` takes back; 1 there before." in said
    for refused in ("net into Network", "Sea into Lake", "Boat into Car"):
        assert f"Not merged in pool cards: {refused}, as people decided otherwise here." in said
    assert "2 merges left out: no memory of the file has the name." in said
    assert merged(redis_client, "other") == []
    assert memory.stats().by_pool == {POOL: 1}


def test_a_file_from_before_there_were_merges_says_nothing_of_them(terminal: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "cards.jsonl"
    file.write_text(with_concepts("Net").model_dump_json() + "\n")

    assert terminal.json("memories", "import", str(file), "--new-pool") == {"imported": 1, "new": 1, "there": 0}
    assert "oncept" not in terminal.run("memories", "import", str(file)).stdout


def test_only_merges_that_the_exported_names_need_are_written_also_over_a_name_that_none_has(
    redis_client: redis.Redis,
) -> None:
    decided(redis_client, ("Net", "Mesh"), ("Mesh", "Grid"), ("Secret", "Plan"))

    written = merge_lines(redis_client, names_of([with_concepts("net"), with_concepts("Secret", pool="other")]))

    assert [(one.pool, one.merge, one.into) for one in written] == [(POOL, "Net", "Mesh"), (POOL, "Mesh", "Grid")]


def test_a_file_whose_merges_go_in_a_circle_makes_those_that_make_none(redis_client: redis.Redis) -> None:
    circle = lines(("A lamp", "B lamp"), ("B lamp", "C lamp"), ("C lamp", "A lamp"))

    done = adopt(redis_client, circle, names_of([with_concepts("A Lamp")]), "eve")

    assert (done["made"], done["there"], done["refused"]) == (2, 1, [])
    assert Decisions(redis_client, POOL).aliases().key("A lamp") == "c lamp"
