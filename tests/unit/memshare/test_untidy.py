"""What a person is shown as untidy: near-duplicates, thin memories, and those that were never of use."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memshare_concepts.nearly_same import Thin, difference, duplicates, nearest, never_of_use, thin
from memshare_memory.door.messages import JudgedMemory
from memshare_memory.memory import Credibility, Memory
from tests.support.memories import at, remembered

DAY = 86_400.0


def made(prompt: str, answer: str = "Yes.", **fields: Any) -> Memory:
    return remembered(prompt, answer=answer, **fields)[0]


def test_two_memories_of_nearly_the_same_text_are_a_pair_the_older_one_first() -> None:
    memories = [made("lamp", created=3.0), made("sea", created=2.0), made("a lamp", created=1.0)]
    vectors = np.stack([at(0), at(90), at(5)])

    [pair] = duplicates(memories, vectors)

    assert pair.memories == (memories[2].id, memories[0].id)
    assert 0.99 < pair.cosine < 1
    assert duplicates(memories[:2], vectors[:2]) == []


def test_a_thin_memory_has_few_words_for_its_kind() -> None:
    essays = [made(f"Essay {number}", "word " * 100, kind="essay") for number in range(3)]
    stub = made("Essay 4", "word " * 9, kind="essay")
    riddles = [made(f"Riddle {number}", "An echo.", kind="riddle") for number in range(3)]

    assert thin([*essays, *riddles, stub]) == [Thin(stub.id, 9, 100)]


def test_a_memory_was_never_of_use_when_it_is_old_and_no_graded_task_was_shown_it() -> None:
    old, older, used, young = (made(f"Lamp {days}", created=100 * DAY - days * DAY) for days in (31, 40, 50, 29))
    judged = {
        one.id: JudgedMemory(memory=one, credibility=Credibility(p=1, credits=int(one is used)), conflicts=())
        for one in (old, older, used, young)
    }

    assert never_of_use(judged, now=100 * DAY, days=30) == [older.id, old.id]


def test_where_no_two_are_nearly_the_same_the_nearest_two_are_told() -> None:
    memories = [made("lamp"), made("sea"), made("ship")]

    found = nearest(memories, np.stack([at(0), at(80), at(40)]))

    assert found is not None
    assert {memories[0].id, memories[1].id} != {*found.memories}
    assert 0.7 < found.cosine < 0.8
    assert nearest(memories[:1], np.stack([at(0)])) is None


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ("An adult pays 12 euros.", "Adults pay 12 euros.", ""),
        ("On Mondays the museum is closed.", "The museum is closed on Mondays.", ""),
        ("An adult pays 12 euros.", "An adult pays 14 euros.", "12 / 14"),
        ("It is led by Ann Lee.", "It is led by Tom Lee.", "Ann / Tom"),
        ("Dogs may come in.", "Dogs may not come in.", "– / not"),
        ("He is here today.", "He isn't here today.", "– / t"),
        ("It opens at six.", "It opens at ten.", "six / ten"),
        ("The museum is open today.", "The museum is closed today.", "open / closed"),
        ("The fee is thirty euros.", "The fee is thirteen euros.", "thirty / thirteen"),
        ("A clock.", "A watch.", "clock / watch"),
        ("The sea lies grey below the tower of stone.", "Lanterns burn where ships were lost at night.", None),
    ],
)
def test_a_pair_is_a_duplicate_where_the_answers_say_the_same_too(one: str, other: str, differ: str | None) -> None:
    assert difference(one, other) == differ
    memories = [made("What does an adult pay?", one, created=1.0), made("What do adults pay?", other, created=2.0)]

    found = duplicates(memories, np.stack([at(0), at(5)]))

    assert [pair.differ for pair in found] == ([] if differ is None else [differ])


def test_two_poems_on_one_task_are_no_pair() -> None:
    texts = (Path(__file__).parents[3] / "README.md").read_text().split("\n\n")
    long = [text for text in texts if len(text) > 400][:4]

    assert len(long) == 4
    assert [difference(*two) for two in combinations(long, 2)] == [None] * 6


def test_statements_that_mean_the_same_in_other_words_are_a_pair() -> None:
    memories = [remembered(None, answer=said)[0] for said in ("Adults pay twelve euros.", "Der Eintritt kostet 12 €.")]

    [pair] = duplicates(memories, np.stack([at(0), at(5)]))

    assert pair.differ == ""
