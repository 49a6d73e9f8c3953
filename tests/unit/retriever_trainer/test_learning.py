"""The learning step and the measure it is judged by, in few dimensions."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from memshare.retriever_trainer.accuracy import Example, pairwise_accuracy
from memshare.retriever_trainer.adapter_state import State
from memshare.retriever_trainer.learning import step

DIMENSION = 6


def at(*degrees: float) -> NDArray[np.float32]:
    """Unit vectors in one plane, of shape (degrees, 2)."""
    return np.stack([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))], axis=1).astype(np.float32)


def normalised(vectors: NDArray[Any]) -> NDArray[np.float32]:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True), dtype=np.float32)


def lesson(seed: int, positives: int = 2, negatives: int = 3) -> Example:
    vectors = normalised(np.random.default_rng(seed).normal(size=(1 + positives + negatives, DIMENSION)))
    return Example(vectors[0], vectors[1:], np.arange(positives + negatives) < positives)


def cosines(weights: NDArray[np.float32], example: Example) -> NDArray[np.float32]:
    turned = example.query + weights @ example.query
    return np.asarray(example.documents @ turned / np.linalg.norm(turned))


def after(state: State, steps: int) -> State:
    for seed in range(steps):
        state = step(state, [lesson(seed), lesson(seed + 1)])
    return state


def same(one: State, other: State) -> bool:
    return all(
        np.array_equal(value, asdict(other)[name]) and value.dtype == np.float32 for name, value in asdict(one).items()
    )


def test_a_step_brings_the_positive_nearer_and_the_negative_further() -> None:
    [query] = at(0)
    example = Example(query, at(60, -60), np.array([True, False]))

    state = step(State.start(2), [example])

    found, left = cosines(state.weights, example)
    assert found > 0.5 + 5e-4
    assert left < 0.5 - 5e-4


def test_what_lessons_have_in_common_is_learnt_for_lessons_that_are_new() -> None:
    def leaning(seed: int) -> Example:
        """A lesson with a query near the first axis, and its positives to one side of the second."""
        example, axes = lesson(seed), np.eye(DIMENSION, dtype=np.float32)
        sides = np.where(example.positive, 1, -1)[:, None].astype(np.float32)
        return replace(
            example,
            query=normalised(0.2 * example.query + axes[0]),
            documents=normalised(example.documents + 2 * sides * axes[1]),
        )

    state, unseen = State.start(DIMENSION), [leaning(seed) for seed in range(100, 130)]
    before = pairwise_accuracy(state.weights, unseen)

    for first in range(200):
        state = step(state, [leaning(first % 50 + place) for place in range(4)])

    now = pairwise_accuracy(state.weights, unseen)
    assert before is not None
    assert now is not None
    assert before < 0.6
    assert now > before + 0.2
    assert state.steps == 200


def test_the_gradient_is_that_of_the_formula() -> None:
    start = after(State.start(DIMENSION), 30)
    start = replace(start, weights=start.weights * 10, weights_mean=start.weights_mean * 0)
    examples = [lesson(7, positives=1, negatives=4), lesson(8, positives=2, negatives=1)]

    def loss(weights: NDArray[np.float64]) -> float:
        losses = []
        for example in examples:
            turned = example.query + weights @ example.query
            logits = 20 * example.documents @ turned / np.linalg.norm(turned) + float(start.bias)
            chance = 1 / (1 + np.exp(-logits))
            losses.append(-np.mean(np.where(example.positive, np.log(chance), np.log(1 - chance))))
        return float(np.mean(losses))

    expected = np.zeros((DIMENSION, DIMENSION))
    for place in np.ndindex(expected.shape):
        little = np.zeros_like(expected)
        little[place] = 1e-5
        weights = start.weights.astype(np.float64)
        expected[place] = (loss(weights + little) - loss(weights - little)) / 2e-5

    # AdamW's mean takes in a tenth of each gradient.
    assert step(start, examples).weights_mean * 10 == pytest.approx(expected, rel=1e-3, abs=1e-5)
    assert np.abs(expected).max() > 0.1


def test_weights_that_nothing_is_learnt_about_fade_and_the_bias_does_not() -> None:
    first = np.eye(DIMENSION, dtype=np.float32)[0]
    example = Example(first, first[None, :], np.array([True]))
    start = State.start(DIMENSION)
    state = replace(start, weights=np.ones_like(start.weights))

    for _ in range(300):
        state = step(state, [example])

    assert state.weights[:, 1:] == pytest.approx(0.999**300, abs=1e-5)
    assert -6 < state.bias <= -5


def test_a_restored_state_goes_on_bit_for_bit() -> None:
    state = after(State.start(DIMENSION), 5)

    restored = State.unpack(state.pack())

    assert same(restored, state)
    assert same(after(restored, 5), after(state, 5))
    assert not same(after(state, 5), state)


def test_what_differs_in_its_moments_alone_goes_on_differently() -> None:
    state = after(State.start(DIMENSION), 5)
    forgetful = replace(State.start(DIMENSION), weights=state.weights, bias=state.bias)

    assert not np.array_equal(after(forgetful, 1).weights, after(state, 1).weights)


def test_a_step_is_the_same_every_time_and_changes_nothing_it_is_given() -> None:
    state, examples = after(State.start(DIMENSION), 3), [lesson(1), lesson(2)]
    given = [*asdict(state).values(), *(value for example in examples for value in asdict(example).values())]
    copies = [value.copy() for value in given]

    for value in given:
        value.setflags(write=False)

    assert same(step(state, examples), step(state, examples))
    assert all(np.array_equal(value, copy) for value, copy in zip(given, copies, strict=True))


def test_the_accuracy_is_the_share_of_pairs_in_order_and_each_lesson_weighs_the_same() -> None:
    [query] = at(0)
    # Of four pairs three are in order: 10° and 40° are before 50°, and 10° alone before 20°.
    four = Example(query, at(10, 40, 20, 50), np.array([True, True, False, False]))
    one = Example(query, at(30, -20), np.array([True, False]))

    assert pairwise_accuracy(np.zeros((2, 2), np.float32), [four]) == 0.75
    assert pairwise_accuracy(np.zeros((2, 2), np.float32), [four, one]) == 0.375


def test_the_accuracy_is_that_of_the_turned_query() -> None:
    [query] = at(0)
    example = Example(query, at(80, 10), np.array([True, False]))
    quarter_turn = np.array([[0, -1], [1, 0]], np.float32) - np.eye(2, dtype=np.float32)

    assert pairwise_accuracy(np.zeros((2, 2), np.float32), [example]) == 0
    assert pairwise_accuracy(quarter_turn, [example]) == 1


def test_a_tie_is_not_in_order() -> None:
    [query] = at(0)

    assert pairwise_accuracy(np.zeros((2, 2), np.float32), [Example(query, at(0, 0), np.array([True, False]))]) == 0


def test_without_lessons_there_is_no_accuracy() -> None:
    assert pairwise_accuracy(np.zeros((2, 2), np.float32), []) is None
