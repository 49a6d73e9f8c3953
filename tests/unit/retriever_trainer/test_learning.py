"""The learning step, in few dimensions."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from numpy.typing import NDArray

from memshare_memory.recall.retriever import Adapter
from memshare_trainer.lesson import Example, border, compare, gains_of, scores
from memshare_trainer.proof import PRIOR, State, Words
from memshare_trainer.step import DECAY, SCALE, SINGLE, TEMPERATURE, step

DIMENSION = 6


def normalised(vectors: NDArray[Any]) -> NDArray[np.float32]:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True), dtype=np.float32)


def lesson(seed: int, positives: int = 2, negatives: int = 3, whose: str = "ada", by: str = "bob") -> Example:
    vectors = normalised(np.random.default_rng(seed).normal(size=(1 + positives + negatives, DIMENSION)))
    count = positives + negatives
    return Example(
        query=vectors[0],
        documents=vectors[1:],
        gains=(np.arange(count) < positives).astype(np.float32),
        ids=tuple(UUID(int=100 * seed + place) for place in range(count)),
        submitters=(whose,) * count,
        by=by,
    )


def word(seed: int, gain: float, whose: str = "ada", by: str = "bob", weight: float = 1.0) -> Example:
    """That one memory helped or misled, beside another one of which nobody knows."""
    made = lesson(seed, 1, 1, whose, by)
    return replace(made, gains=np.array([gain, np.nan], np.float32), weight=weight)


def helping(example: Example) -> NDArray[np.bool_]:
    return np.asarray(np.nan_to_num(example.gains) > 0.5)


def words_of(*examples: Example) -> Words:
    words = Words()
    for one in examples:
        words.add(one)
    return words


def taught(*examples: Example, steps: int = 1, start: State | None = None) -> State:
    state, words = start or State.start(DIMENSION), words_of(*examples)
    for _ in range(steps):
        state = step(state, examples, words)
    return state


def adapter(state: State) -> Adapter:
    return Adapter.of(1, state.weights, dict(zip(state.submitters, map(float, state.worth), strict=True)))


def after(steps: int, start: State | None = None) -> State:
    state = start or State.start(DIMENSION)
    for seed in range(steps):
        state = taught(lesson(seed), lesson(seed + 1), start=state)
    return state


def same(one: State, other: State) -> bool:
    return all(np.array_equal(value, asdict(other)[name]) for name, value in asdict(one).items())


def test_a_step_ranks_what_helps_higher_and_what_misleads_lower() -> None:
    example = lesson(1, 1, 1)
    before, now = scores(Adapter(), [example])[0], scores(adapter(taught(example)), [example])[0]

    assert now[0] - now[1] > before[0] - before[1] + 1e-3


@pytest.mark.parametrize(
    ("numbers", "between"),
    [
        ([0.0, 1.0], 0.5),
        ([0.45, 0.55], 0.5),
        ([0.6, 0.9, 1.0], 0.8),
        ([0.0, 0.1, 0.4], 0.2),
        ([0.1, 0.2, 0.25], None),
        ([0.2, 0.5], 0.35),
        ([0.5, 0.5], None),
        ([], None),
    ],
)
def test_a_list_is_parted_at_undecided_or_in_its_middle_where_all_are_on_one_side(
    numbers: list[float], between: float | None
) -> None:
    found = border(numbers)

    assert found == (between if between is None else pytest.approx(between))


def test_a_list_in_which_all_help_teaches_which_help_more() -> None:
    example = replace(lesson(3, 2, 2), gains=np.array([1.0, 0.95, 0.6, 0.65], np.float32))

    before, now = scores(Adapter(), [example])[0], scores(adapter(taught(example, steps=30)), [example])[0]

    assert now[:2].min() - now[2:].max() > before[:2].min() - before[2:].max() + 0.01


def test_what_lessons_have_in_common_is_learnt_for_lessons_that_are_new() -> None:
    def leaning(seed: int) -> Example:
        """A lesson with a query near the first axis, and its positives to one side of the second."""
        example, axes = lesson(seed), np.eye(DIMENSION, dtype=np.float32)
        sides = np.where(helping(example), 1, -1)[:, None].astype(np.float32)
        return replace(
            example,
            query=normalised(0.2 * example.query + axes[0]),
            documents=normalised(example.documents + 2 * sides * axes[1]),
        )

    state, unseen = State.start(DIMENSION), [leaning(seed) for seed in range(100, 130)]
    words = words_of(*(leaning(seed) for seed in range(54)))
    for first in range(200):
        state = step(state, [leaning(first % 50 + place) for place in range(4)], words)

    found = compare(gains_of(unseen), scores(Adapter(), unseen), scores(adapter(state), unseen))
    assert found.first.after > found.first.before + 0.2
    assert state.steps == 200


def test_the_gradient_is_that_of_the_formula() -> None:
    start = after(30)
    start = replace(start, weights=start.weights * 10, weights_mean=start.weights_mean * 0)
    first, second = lesson(7, positives=1, negatives=4), lesson(8, positives=2, negatives=1)
    said = word(9, 1.0, weight=0.5)
    examples = [first, second, said]
    words = words_of(*examples)
    own = float(start.worth[0])

    def s(weights: NDArray[np.float64], example: Example) -> NDArray[np.float64]:
        query, documents = (rows + rows @ weights.T for rows in (example.query, example.documents))
        cosines = documents @ query / np.linalg.norm(documents, axis=1) / np.linalg.norm(query)
        return np.asarray(cosines + own)

    def loss(weights: NDArray[np.float64]) -> float:
        lists, singles = [], []
        for one in examples:
            found, known = s(weights, one), ~np.isnan(one.gains)
            if one.is_lesson:
                logits = found / TEMPERATURE
                against = np.log(np.exp(logits[~helping(one)]).sum())
                lists.append(np.mean(np.log1p(np.exp(against - logits[helping(one)]))))
            chance = 1 / (1 + np.exp(-(found - float(start.bias)) / SCALE))[known]
            singles.append(-one.weight * np.mean(np.where(helping(one)[known], np.log(chance), np.log(1 - chance))))
        prior = own**2 / (2 * PRIOR**2 * words.total)
        return float(np.mean(lists) + SINGLE * np.mean(singles) + DECAY * (weights**2).sum() + prior)

    expected = np.zeros((DIMENSION, DIMENSION))
    for place in np.ndindex(expected.shape):
        little = np.zeros_like(expected)
        little[place] = 1e-5
        weights = start.weights.astype(np.float64)
        expected[place] = (loss(weights + little) - loss(weights - little)) / 2e-5

    # Adam's mean takes in a tenth of each gradient.
    assert step(start, examples, words).weights_mean * 10 == pytest.approx(expected, rel=2e-3, abs=1e-4)
    assert np.abs(expected).max() > 0.1


def test_weights_that_nothing_is_learnt_about_fade() -> None:
    first = np.eye(DIMENSION, dtype=np.float32)[0]
    example = replace(lesson(1, 1, 0), query=first, documents=first[None, :])
    state = replace(State.start(DIMENSION), weights=np.full((DIMENSION, DIMENSION), 0.1, np.float32))

    found = taught(example, steps=100, start=state).weights[:, 1:]

    assert np.all((found > 0.09) & (found < 0.0995))


def test_a_submitter_whose_memories_mislead_is_worth_less_than_one_whose_help() -> None:
    said = [word(seed, float(seed % 2), whose="ada" if seed % 2 else "mallory") for seed in range(40)]

    state = taught(*said, steps=50)

    assert state.submitters == ("ada", "mallory")
    assert state.worth[0] > 0.02
    assert state.worth[1] < -0.02


def test_words_about_ones_own_memories_do_not_move_ones_worth_where_others_speak() -> None:
    own = [word(seed, 1.0, whose="mallory", by="mallory") for seed in range(20)]
    other = word(50, 1.0, whose="ada", by="bob")

    together, alone = taught(*own, other, steps=20), taught(*own, steps=20)

    assert together.worth[together.submitters.index("mallory")] == 0
    assert alone.worth[0] > 0.02


def test_what_is_said_twice_of_a_memory_counts_half_each_time() -> None:
    once, again = word(1, 1.0), replace(word(2, 1.0), ids=word(1, 1.0).ids)
    words = words_of(once, again)
    memory = once.ids[0]

    assert words.share("bob", memory, "ada") == 0.5
    assert words.of_submitters() == {"ada": 1}
    words.remove(again)
    assert words.share("bob", memory, "ada") == 1
    words.remove(once)
    assert (words.of_submitters(), words.total) == ({}, 0)


def test_a_restored_state_goes_on_bit_for_bit() -> None:
    state = after(5)

    restored = State.unpack(state.pack())

    assert same(restored, state)
    assert same(after(5, restored), after(5, state))
    assert not same(after(5, state), state)


def test_what_differs_in_its_moments_alone_goes_on_differently() -> None:
    state = after(5)
    forgetful = replace(State.start(DIMENSION).knowing(state.submitters), weights=state.weights, bias=state.bias)

    assert not np.array_equal(after(1, forgetful).weights, after(1, state).weights)


def test_a_step_is_the_same_every_time_and_changes_nothing_it_is_given() -> None:
    state, examples = after(3), [lesson(1), lesson(2)]
    values = [*asdict(state).values(), *(value for one in examples for value in asdict(one).values())]
    given = [value for value in values if isinstance(value, np.ndarray)]
    copies = [value.copy() for value in given]
    for value in given:
        value.setflags(write=False)
    words = words_of(*examples)

    assert same(step(state, examples, words), step(state, examples, words))
    assert all(np.array_equal(value, copy) for value, copy in zip(given, copies, strict=True))


def test_what_stood_beside_a_followed_memory_gains_what_is_usual() -> None:
    helped, misled = word(1, 1.0), word(2, 0.0)
    beside_first = replace(helped, documents=np.stack([-helped.query, helped.query]))
    it_first = replace(misled, documents=np.stack([misled.query, -misled.query]))

    examples = [beside_first, it_first]
    found = compare(gains_of(examples), scores(Adapter(), examples), scores(Adapter(), examples))

    assert found.first.before == (0.5 + 0) / 2
