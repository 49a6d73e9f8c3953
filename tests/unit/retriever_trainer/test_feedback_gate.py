"""Feedback is switched on where held-out lessons rank better, and not by chance."""

from __future__ import annotations

import random
from collections.abc import Sequence
from uuid import UUID

import pytest

from memshare.memory_service.recall.feedback import Way
from memshare.retriever_trainer.feedback_gate import FEWEST_LESSONS, Gain, decide, gains, share_in_order
from memshare.retriever_trainer.kept_lesson import KeptLesson

GOOD, POOR = [UUID(int=number) for number in (1, 2)], [UUID(int=number) for number in (3, 4)]


def lesson(number: int) -> KeptLesson:
    return KeptLesson(
        number=number, memory_id=UUID(int=9), labelled_by="json", labels={}, positives=tuple(GOOD),
        negatives=tuple(POOR), vectors="",
    )  # fmt: skip


def shuffled(lesson: KeptLesson, way: Way) -> Sequence[UUID]:
    order = [*GOOD, *POOR]
    random.Random(f"{lesson.number} {way}").shuffle(order)
    return order


def better_by_words(lesson: KeptLesson, way: Way) -> Sequence[UUID]:
    return [*GOOD, *POOR] if way == "words" and lesson.number % 3 else shuffled(lesson, "off")


def test_what_ranks_better_for_sure_is_used() -> None:
    found = gains([lesson(number) for number in range(30)], better_by_words)
    chosen = decide(found)

    assert chosen is not None
    assert chosen.way == "words"
    assert chosen.after > 0.7 > chosen.before
    assert chosen.lessons == 30


def test_chance_is_not_enough() -> None:
    switched = [
        decide(gains([lesson(30 * draw + number) for number in range(30)], shuffled)) is not None for draw in range(40)
    ]

    assert sum(switched) <= 4


def test_few_lessons_decide_nothing_and_forgotten_ones_do_not_count() -> None:
    found = gains([lesson(number) for number in range(FEWEST_LESSONS - 1)], better_by_words)
    gone = gains([lesson(number) for number in range(30)], lambda *_: None)

    assert decide(found) is None
    assert decide(gone) is None
    assert {one.lessons for one in gone} == {0}


def test_of_two_ways_the_better_one_is_used() -> None:
    sure = [
        Gain("words", 0.5, 0.6, 0.01, 30),
        Gain("concepts", 0.5, 0.7, 0.01, 30),
        Gain("concepts", 0.5, 0.9, 0.3, 30),
    ]

    assert decide(sure) == sure[1]


@pytest.mark.parametrize(
    ("order", "share"),
    [([*GOOD, *POOR], 1.0), ([*POOR, *GOOD], 0.0), ([GOOD[0], POOR[0], GOOD[1], POOR[1]], 0.75), ([], 0.5)],
)
def test_the_share_of_pairs_in_order(order: list[UUID], share: float) -> None:
    assert share_in_order(lesson(1), order) == share
