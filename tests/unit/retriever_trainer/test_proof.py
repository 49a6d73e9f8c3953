"""Who is proven, by what words, and by whose."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean
from uuid import UUID, uuid5

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memshare.demo.text_to_sql import read_questions
from memshare_memory.admit.followed import LEAST_FOLLOWED, shares_in_common
from memshare_memory.belief.trust import Standing, Standings
from memshare_memory.encoders.open_encoder import open_encoder
from memshare_memory.recall.retriever import Adapter
from memshare_trainer.proof import HALF_LIFE, People, Vouching, judged, lower_bound
from tests.support.memories import remembered

SPACE = UUID(int=0)
NOBODY = People()


def words(
    by: str, of: str, count: int, *, good: float = 1.0, claim: bool = False, at: float = 0.0, curator: str = ""
) -> list[Vouching]:
    """Words of somebody on as many memories."""
    curators = (curator,) if curator else ()
    return [
        Vouching(by, uuid5(SPACE, f"{of} {number}"), of, good, 1 - good, at, claim, curators) for number in range(count)
    ]


def proven(said: Iterable[Vouching], people: People = NOBODY) -> set[str]:
    said = list(said)
    known = {word.submitter: Standing(worth=0, error=0, words=1) for word in said}
    return set(judged(Standings(submitters=known), said, people).proven)


def test_two_people_prove_somebody_and_one_never_does() -> None:
    assert proven(words("ada", "eve", 2) + words("bob", "eve", 2)) == {"eve"}
    assert proven(words("ada", "eve", 100)) == set()
    assert proven(words("eve", "eve", 100)) == set()
    assert proven(words("ada", "eve", 100) + words("eve", "eve", 100)) == set()


def test_tasks_and_claims_of_one_token_are_the_words_of_one_person() -> None:
    tasks, claims = words("sock", "eve", 9), words("sock", "eve", 9, claim=True)

    assert proven(tasks + claims) == set()
    assert proven(tasks + claims + words("bob", "eve", 2)) == {"eve"}


def test_a_group_is_one_person_and_its_words_on_its_own_are_none() -> None:
    people = People({"eve": "team", "eve2": "team", "ada": "other", "ada2": "other"})

    assert proven(words("eve2", "eve", 9) + words("ada", "eve", 9), people) == set()
    assert proven(words("ada2", "eve", 9) + words("ada", "eve", 9), people) == set()
    assert proven(words("bob", "eve", 9) + words("ada", "eve", 9), people) == {"eve"}


def test_what_is_claimed_counts_from_curators_outwards() -> None:
    sybils = [word for number in range(9) for word in words(f"eve{number}", "eve", 9, claim=True)]
    rings = [word for number in range(9) for word in words("eve", f"eve{number}", 9, claim=True)]
    curated = words("bob", "carl", 1, curator="ada")

    assert proven(sybils + rings + curated) == {"ada"}
    assert proven(sybils + words("ada", "eve", 2, claim=True, curator="ada")) == {"ada", "eve"}, (
        "a curator finds them good"
    )
    assert proven(words("bob", "eve", 9, claim=True) + words("ada", "eve", 9, claim=True)) == set(), "of two strangers"
    assert proven(words("bob", "eve", 9, claim=True) + words("ada", "eve", 9, claim=True), People({}, frozenset(
        {"bob", "ada"}
    ))) == {"eve"}  # fmt: skip
    # Ada, who is a curator, and others speak for Bob; so Bob's words count, too.
    chain = words("ada", "bob", 3, claim=True, curator="ada") + words("carl", "bob", 3, claim=True)
    assert proven(chain + words("bob", "eve", 3, claim=True) + words("dora", "eve", 3, claim=True)) == {
        "ada",
        "bob",
        "eve",
    }


def test_who_misleads_is_not_proven_by_what_is_right_sometimes() -> None:
    def mixed(by: str) -> list[Vouching]:
        return [*words(by, "eve", 20, good=0.0), *words(by, "eve", 4)]

    assert proven(mixed("ada") + mixed("bob") + mixed("carl")) == set()


def test_who_brings_in_memories_is_proven_and_alone_learns_as_before() -> None:
    assert proven(words("ada", "ada", 1, curator="ada")) == {"ada"}
    assert proven(words("ada", "ada", 9) + words("ada", "bob", 1, curator="bob")) == {"bob"}


def test_words_get_old() -> None:
    old, new = words("ada", "eve", 2) + words("bob", "eve", 2), words("ada", "carl", 1, at=2 * HALF_LIFE)

    assert proven(old) == {"eve"}
    assert proven(old + new) == set()


def test_who_is_proven_is_so_near_what_was_found_good() -> None:
    said = words("ada", "eve", 2) + words("bob", "eve", 40)
    standings = Standings(submitters={"eve": Standing(worth=0, error=0, words=1)})

    near = judged(standings, said, NOBODY).proven["eve"]

    assert len(near) == 32
    assert set(near) <= {word.memory for word in said}


names = st.sampled_from(["ada", "bob", "carl", "eve", "eve2"])
weights = st.floats(0, 1)
any_word = st.builds(
    Vouching,
    by=names,
    memory=st.integers(0, 9).map(lambda number: UUID(int=number)),
    submitter=names,
    good=weights,
    bad=st.just(0.0),
    at=st.just(0.0),
    is_claim=st.booleans(),
    curators=st.sampled_from([(), ("ada",)]),
)
bad_word = any_word.map(lambda word: word._replace(good=0.0, bad=word.good, curators=()))


@settings(max_examples=300, deadline=None)
@given(st.lists(any_word, max_size=30), st.lists(bad_word, max_size=30))
def test_no_bad_words_prove_anybody(said: list[Vouching], bad: list[Vouching]) -> None:
    assert proven(said + bad) <= proven(said)
    assert proven([word._replace(curators=()) for word in bad]) == set()


@pytest.mark.parametrize(("good", "of", "expected"), [(0, 0, 0.0), (1, 1, 0.5), (0, 5, 0.0), (3, 3, 0.75)])
def test_the_lower_bound_of_a_share(good: float, of: float, expected: float) -> None:
    assert lower_bound(good, of) == pytest.approx(expected)


def test_most_honest_memories_count_in_full_after_a_hundred_graded_tasks(exports: Path) -> None:
    encoder = open_encoder(None, device="cpu", timeout=10, exports=exports)
    questions = list(read_questions().every)
    vectors = np.asarray(encoder.encode([one.text for one in questions]))
    counted = list[bool]()
    for seed in range(4):
        draw, memories, said = random.Random(seed), list[tuple[UUID, str, int]](), list[Vouching]()
        for number, asked in enumerate(draw.sample(range(len(questions)), 100)):
            by, accepted = f"person {number % 4}", draw.random() < 0.9
            nearest = sorted(memories, key=lambda one: -float(vectors[one[2]] @ vectors[asked]))[:3]
            answer = questions[asked if accepted or not nearest else nearest[0][2]].sql
            followed = shares_in_common(answer, [questions[place].sql for _, _, place in nearest])
            said += [
                Vouching(by, memory, owner, float(accepted), 0.0 if accepted else share / 2, 0.0, is_claim=False)
                for (memory, owner, _), share in zip(nearest, followed, strict=True)
                if share >= LEAST_FOLLOWED
            ]
            if accepted:
                memories.append((uuid5(SPACE, f"{seed} {number}"), by, asked))
        known = {f"person {number}": Standing(worth=0, error=0, words=1) for number in range(4)}
        adapter = Adapter(proven_submitters=judged(Standings(submitters=known), said, NOBODY).proven)
        by_id = {memory: vectors[place] for memory, _, place in memories}
        for _, by, place in memories:
            memory, _ = remembered(questions[place].text, submitter=by, task_id="task")
            counted.append(adapter.proven(memory, vectors[place], by_id))

    assert fmean(counted) >= 0.88


def test_twelve_answers_about_bread_prove_nothing_for_fire_drills(exports: Path) -> None:
    encoder = open_encoder(None, device="cpu", timeout=10, exports=exports)
    about = ("flour", "oven heat", "salt", "tin", "leaven", "seeds", "crust", "dough", "yeast", "rye", "time", "shape")
    bread = [f"Which {what} is right for a loaf of bread?" for what in about]
    praised = {uuid5(SPACE, one): vector for one, vector in zip(bread, encoder.encode(bread), strict=True)}
    adapter = Adapter(proven_submitters={"eve": tuple(praised)})

    def counts(prompt: str) -> bool:
        memory, _ = remembered(prompt, submitter="eve", task_id="task")
        return adapter.proven(memory, encoder.encode([prompt])[0], praised)

    assert counts("How long does wheat bread rise before it is baked?")
    assert not counts("Where do we gather in a fire drill?")
    assert not counts("Which number do I call in an emergency?")
