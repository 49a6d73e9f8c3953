"""`memshare concepts` as a person uses it, on flashcards in the pool of an agent."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from memshare.client.client import Client
from memshare.operate.data_folder import connected
from memshare_broker.settings import Settings
from memshare_concepts.flashcards import flashcards
from memshare_concepts.reviews import CardStore
from memshare_memory.memory import Memory, memory_id
from tests.support.terminal import Terminal

CARDS = flashcards()[40:140]
HOSTILE = "[/] [red]Lamp</script>"
PROMPT = "[/] [red]lamp[/red] \x1b]0;owned\x07\x1b[2J</script><script>document.title = 'taken'</script>"


def memory(pool: str, prompt: str, answer: str, concepts: dict[str, Any], **fields: Any) -> Memory:
    return Memory(
        id=memory_id(pool, prompt, answer), pool=pool, prompt=prompt, answer=answer, concepts=concepts, created=1.7e9,
        **fields,
    )  # fmt: skip


def bring_in(terminal: Terminal, *memories: Memory) -> None:
    file = terminal.data / "brought.jsonl"
    file.write_text("".join(one.model_dump_json() + "\n" for one in memories))
    terminal.run("memories", "import", str(file), "--new-pool")


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory, pool_settings: dict[str, str]) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path_factory.mktemp("up"))
    terminal.environment |= pool_settings | {"MEMSHARE_CONCEPTS": "false"}  # the cards have theirs
    cards = [
        memory("logic", card.prompt, card.answer, {str(level): of for level, of in card.concepts.levels().items()})
        for card in CARDS
    ]
    with terminal.working():
        bring_in(
            terminal,
            *cards,
            memory("poem", PROMPT, f"{PROMPT} shines.", {"-1": (HOSTILE,), "0": ("Lamp",)}),
            memory("poem", f"{PROMPT}!", "It shines.", {"-1": (HOSTILE, "Lamps"), "0": ("Light",)}),
        )
        yield terminal


def test_a_concept_and_a_memory_are_shown(terminal: Terminal) -> None:
    shown = terminal.json("concepts", "show", "language models", "--pool", "logic")

    assert shown["concept"] == "Language Model"
    assert shown["count"] == len(shown["memories"]) > 1
    assert all(link["abstraction"] >= 0.5 for link in shown["more_general"])
    assert shown["more_general"]
    assert sum(shown["vector"].values()) == pytest.approx(1)
    assert max(shown["vector"], key=shown["vector"].get) == "Language Model"

    linked = {link["name"] for where in ("more_general", "beside", "more_specific") for link in shown[where]}
    further = terminal.json("concepts", "show", "language model", "--pool", "logic", "--steps", "2")["vector"]
    assert further.keys() - linked - {"Language Model"}  # without a common memory

    one = terminal.json("concepts", "show", shown["memories"][0][:8], "--pool", "logic")
    assert "Language Model" in one["levels"]
    assert sum(one["vector"].values()) == pytest.approx(1)
    text = terminal.run("concepts", "show", "language model", "--pool", "logic").stdout
    assert shown["memories"][0][:8] in text
    assert f"{shown['count']} memories" in text


def test_what_concepts_have_in_common_is_shown_with_the_memories_nearest_to_it(terminal: Terminal) -> None:
    two = ("language model", "Neural Network")

    found = terminal.json("concepts", "common", *two, "--pool", "logic")

    assert found["concepts"] == ["Language Model", "Neural Network"]
    assert sum(found["vector"].values()) == pytest.approx(1)
    alike = [one["similarity"] for one in found["memories"]]
    assert alike == sorted(alike, reverse=True)
    text = terminal.run("concepts", "common", *two, "--pool", "logic").stdout
    assert found["memories"][0]["id"][:8] in text
    apart = terminal.run("concepts", "common", "Lamp", "Light", "--pool", "poem")
    assert "in common" in apart.stdout
    one = terminal.run("concepts", "common", "Lamp", "lamps", "--pool", "poem", code=2)
    assert "Expected two different concepts" in one.stderr


def test_clusters_partition_the_pool_level_by_level(terminal: Terminal) -> None:
    found = terminal.json("concepts", "clusters", "--pool", "logic")["clusters"]

    by_number = {one["number"]: one for one in found}
    deepest = max(one["level"] for one in found)
    assert deepest >= 1
    for level in range(deepest + 1):
        members = [memory for one in found if one["level"] == level for memory in one["memories"]]
        assert len(members) == len(set(members)) == len(CARDS)
    for one in found:
        below = [memory for child in one["children"] for memory in by_number[child]["memories"]]
        assert sorted(below) == (sorted(one["memories"]) if one["children"] else [])

    child = next(one for one in found if one["parent"] is not None)
    whole = terminal.json("concepts", "clusters", str(child["number"]), "--pool", "logic")
    assert whole["parents"][0] == child["parent"]
    assert child["number"] in by_number[child["parent"]]["children"]
    assert child["name"] in terminal.run("concepts", "clusters", str(child["number"]), "--pool", "logic").stdout
    fewer = terminal.json("concepts", "clusters", "--pool", "logic", "--size", "40")["clusters"]
    assert len(fewer) < len(found)


def test_a_gap_is_dismissed_for_good_and_brought_back(terminal: Terminal) -> None:
    def listed() -> list[str]:
        return [gap["id"] for gap in terminal.json("concepts", "gaps", "--pool", "logic", "--limit", "1000")]

    before = listed()
    gap = next(one for one in before if one.startswith("unexplained:"))

    terminal.run("concepts", "gaps", "--pool", "logic", "--dismiss", gap, "--by", "ada")
    assert set(listed()) == set(before) - {gap}
    assert terminal.json("concepts", "gaps", "--pool", "logic", "--dismissed")[gap]["by"] == "ada"
    assert gap in terminal.run("concepts", "gaps", "--pool", "logic", "--dismissed").stdout
    terminal.run("concepts", "gaps", "--pool", "logic", "--bring-back", gap)
    assert listed() == before
    assert "and none is about it" in terminal.run("concepts", "gaps", "--pool", "logic").stdout


def test_names_are_merged_and_split_by_people_and_by_similarity(terminal: Terminal) -> None:
    def count(name: str) -> int:
        found: int = terminal.json("concepts", "show", name, "--pool", "logic")["count"]
        return found

    before = count("Parameter"), count("Language Model")
    merged = terminal.json("concepts", "merge", "parameter", "language model", "--pool", "logic")
    assert merged["count"] == count("Parameter") == count("Language Model") > before[1]
    text = terminal.run("concepts", "show", "parameters", "--pool", "logic").stdout
    assert text.startswith("Language Model")
    assert "Merged into it: Parameter." in text
    again = terminal.run("concepts", "merge", "Parameter", "Token", "--pool", "logic", code=2).stderr
    assert "'Parameter' counts as 'Language Model' already" in again
    terminal.run("concepts", "split", "parameter", "--pool", "logic")
    assert (count("Parameter"), count("Language Model")) == before

    proposed = terminal.json("concepts", "similar", "--pool", "logic")["proposed"]
    apart, *certain = [pair for pair in proposed if pair["similarity"] >= 0.95]
    assert certain
    assert not [pair for pair in proposed if re.search(r"\d", pair["keep"] + pair["other"])]
    two = apart["other"], apart["keep"]
    terminal.run("concepts", "similar", "--pool", "logic", "--apart", *two, "--by", "ada")
    assert terminal.json("concepts", "similar", "--pool", "logic", "--merge")["merged"] == certain
    for pair in certain:
        assert count(pair["other"]) == count(pair["keep"])
        terminal.run("concepts", "split", pair["other"], "--pool", "logic", "--by", "ada")
    assert terminal.json("concepts", "similar", "--pool", "logic", "--merge")["merged"] == []


def test_why_a_memory_was_shown_is_told_by_what_it_shares(terminal: Terminal) -> None:
    prompt = CARDS[0].prompt
    bare = memory("logic", f"{prompt} And why?", "Nobody knows.", {})
    bring_in(terminal, bare)
    task = terminal.run("submit", "logic", prompt, "--no-remember").stdout.strip()
    journey = terminal.settled(task)
    shown = {one["id"]: one["similarity"] for one in journey["memories"]}
    assert str(bare.id) in shown

    told = terminal.json("concepts", "why", task)

    assert {one["memory"]: one["cosine"] for one in told["memories"]} == shown
    compared = [one for one in told["memories"] if one["missing"] is None]
    assert any(one["contributions"] for one in compared)
    for one in compared:
        assert sum(one["contributions"].values()) == pytest.approx(one["similarity"])
    assert [one["memory"] for one in told["memories"] if one["missing"] == "no concepts yet"] == [str(bare.id)]
    text = terminal.run("concepts", "why", task[:8]).stdout
    assert "similarity by concepts" in text
    assert "not known yet" in text
    terminal.run("memories", "forget", str(bare.id), "--yes")
    assert "It is forgotten" in terminal.run("concepts", "why", task).stdout


def test_a_forgotten_memory_is_as_if_it_had_never_been_there(terminal: Terminal) -> None:
    commands = (["show", "Parameter"], ["clusters"], ["gaps", "--limit", "1000"])

    def seen() -> list[Any]:
        return [terminal.json("concepts", *words, "--pool", "logic") for words in commands]

    before = seen()
    levels = {"-1": ("Language Model", "Mercury Lamp", "Parameter"), "0": ("Glow Discharge",), "4": ("Physics",)}
    another = memory("logic", "What glows in a language model?", "Nothing but a mercury lamp.", levels)
    bring_in(terminal, another)
    assert all(one != other for one, other in zip(seen()[:2], before[:2], strict=True))

    terminal.run("memories", "forget", str(another.id), "--yes")

    assert seen() == before


def test_the_map_has_every_memory_and_a_purge_leaves_its_file(terminal: Terminal, tmp_path: Path) -> None:
    another = memory("logic", "What is purged?", "This.", {"0": ("Purge",), "4": ("Law",), "-1": ("Language Model",)})
    bring_in(terminal, another)
    file = tmp_path / "map.html"
    file.write_text("another map")

    done = terminal.json("concepts", "map", "--pool", "logic", "--out", str(file))

    head, *memories = data_of(file)
    assert done["memories"] == len(memories) == len(CARDS) + 1
    assert done["sizes"] == [one["size"] for one in head["sizes"]]
    assert done["clusters"] == len({one["clusters"][done["sizes"].index(10)] for one in memories})
    assert str(another.id) in {one["id"] for one in memories}
    assert all(one["credibility"] == pytest.approx(1, abs=0.5) for one in memories)
    assert not re.search(r"(?:src|href)\s*=|https?:", file.read_text().split('id="data"')[0])
    done = terminal.run("memories", "purge", str(another.id), "--yes")
    assert "maps, exported files" in " ".join(done.stderr.split())
    with closing(Client(Settings(data=terminal.data, model="offline"))) as client, connected(client.settings) as redis:
        CardStore(redis, "ada").review("logic", [UUID(memories[0]["id"])], "good", time.time() - 86_400)
    terminal.run("concepts", "map", "--pool", "logic", "--out", str(file), "--person", "ada")
    known = {one["id"]: one["remembered"] for one in data_of(file)[1:]}
    assert known.keys() == {one["id"] for one in memories} - {str(another.id)}
    assert 0 < known.pop(memories[0]["id"]) < 1
    assert set(known.values()) == {None}
    assert "cannot be written" in terminal.run("concepts", "map", "--pool", "logic", "--out", "/", code=2).stderr


def test_what_may_be_untidy_is_listed_and_nothing_is_changed(terminal: Terminal) -> None:
    copy = memory("logic", f"{CARDS[1].prompt} ", f"{CARDS[1].answer}!", {})
    short = memory("logic", "What is said in short?", "So.", {})
    bring_in(terminal, copy, short)
    before = terminal.json("memories", "stats")["by_pool"]

    found = terminal.json("memories", "untidy", "--pool", "logic", "--days", "0")

    assert any(str(copy.id) in pair["memories"] for pair in found["duplicates"])
    assert str(short.id) in [one["memory"] for one in found["thin"]]
    assert str(copy.id) in found["never_of_use"]
    assert str(copy.id)[:8] in terminal.run("memories", "untidy", "--pool", "logic").stdout
    assert terminal.json("memories", "stats")["by_pool"] == before
    terminal.run("memories", "forget", str(copy.id), str(short.id), "--yes")


def test_what_a_name_or_a_prompt_says_commands_neither_terminal_nor_page(terminal: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "map.html"
    for words in (["show", HOSTILE], ["clusters"], ["clusters", "1"], ["gaps"], ["similar"], ["show", "[/]"]):
        text = terminal.see("concepts", *words, "--pool", "poem", code=2 if words[1:] == ["[/]"] else 0)
        assert "\x1b]" not in text
        assert "\x1b[2J" not in text
    assert HOSTILE in terminal.see("concepts", "show", HOSTILE, "--pool", "poem")
    assert r"\x1b]0;owned" in terminal.see("concepts", "show", HOSTILE, "--pool", "poem")
    terminal.run("concepts", "map", "--pool", "poem", "--out", str(file))
    assert file.read_text().lower().count("</script") == 2  # those of the page
    assert "\x1b" not in file.read_text()
    [first, *_] = [one for one in data_of(file)[1:] if one["prompt"].endswith("</script>")]
    assert first["prompt"].startswith("[/] [red]lamp[/red] \\x1b]0;owned")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["show", "Languag Modell", "--pool", "logic"], "The nearest: Language Model"),
        (["show", "x", "--pool", "nope"], "No pool is called 'nope'. There are:"),
        (["show", "x", "--pool", "plan"], "`memshare concepts extract --pool plan`"),
        (["show", "x"], "Say which pool, with --pool: logic, poem."),
        (["show", "00000000-0000-4000-8000-000000000000", "--pool", "logic"], "No memory has the id"),
        (["clusters", "999", "--pool", "logic"], "has no cluster 999: expected a number from 1 to"),
        (["gaps", "--dismiss", "thin:nothing", "--pool", "logic"], "has no gap 'thin:nothing'"),
        (["gaps", "--bring-back", "thin:nothing", "--pool", "logic"], "No gap 'thin:nothing' was dismissed"),
        (["merge", "Language Model", "language models", "--pool", "logic"], "one concept already"),
        (["merge", "Languag Modle", "Language Model", "--pool", "logic"], "The nearest: Language Model"),
        (["split", "Language Model", "--pool", "logic"], "was not merged into another concept"),
        (
            ["map", "--out", "map.html", "--person", "eve", "--pool", "logic"],
            "'eve' has reviewed nothing of pool 'logic'",
        ),
        (["why", "nobody"], "No task has the id 'nobody'"),
    ],
)
def test_an_error_says_what_to_do(terminal: Terminal, words: list[str], told: str) -> None:
    assert told in terminal.run("concepts", *words, code=2).stderr


def data_of(file: Path) -> list[Any]:
    """The data of a map: what it says of the pool, and of each memory."""
    found = re.search(r'<script type="application/json" id="data">\n(.*?)\n</script>', file.read_text(), re.DOTALL)
    assert found
    return [json.loads(line) for line in found[1].split("\n")]
