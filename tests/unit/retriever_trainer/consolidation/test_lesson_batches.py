from __future__ import annotations

import pytest

from memshare_trainer.consolidation.finetune import QUESTIONS, batches
from memshare_trainer.consolidation.pool_record import TextLesson

TEA = TextLesson("tea", ("moss", "recipe"), (True, False))
OUTCOME = TextLesson("snow", ("fog",), (True,))


def many(count: int) -> list[TextLesson]:
    return [TextLesson(f"question {n}", (f"right {n}", f"wrong {n}"), (True, False)) for n in range(count)]


def test_each_question_has_its_positive_at_its_place_and_its_negative_behind_all_of_them() -> None:
    (batch,) = batches([TEA, OUTCOME], 1, seed=1)

    places = {question: batch.documents[place] for place, question in enumerate(batch.questions)}
    assert places == {"tea": "moss", "snow": "fog"}
    assert batch.documents[2:] == ["recipe"]
    assert batch.other_positives == [[False] * 3] * 2


def test_what_helps_a_question_is_no_negative_of_it_whichever_of_the_two_was_asked() -> None:
    fog = TextLesson("fog", ("tea",), (True,))

    (batch,) = batches([TEA, OUTCOME, fog], 1, seed=1)

    masked = {
        (batch.questions[row], batch.documents[column])
        for row, marks in enumerate(batch.other_positives)
        for column, other in enumerate(marks)
        if other
    }
    # Tea helps fog, so fog is no negative of tea; and no question is one of itself.
    assert masked == {("tea", "fog"), ("fog", "fog"), ("tea", "tea")}


def test_what_helps_a_question_is_no_negative_of_it_in_another_spelling_either() -> None:
    other = TextLesson("th\u00e9", ("MOSS\u200b",), (True,))

    (batch,) = batches([TextLesson("the\u0301", ("moss",), (True,)), other], 1, seed=1)

    assert [sum(marks) for marks in batch.other_positives] == [1, 1]


def test_all_lessons_come_once_before_one_comes_again() -> None:
    lessons = many(3 * QUESTIONS)

    drawn = [question for batch in batches(lessons, 3, seed=1) for question in batch.questions]

    assert sorted(drawn) == sorted(lesson.query for lesson in lessons)
    assert drawn != [lesson.query for lesson in lessons]


def test_a_lesson_without_a_positive_asks_nothing() -> None:
    (batch,) = batches([TEA, TextLesson("rain", ("a letter",), (False,))], 1, seed=1)

    assert batch.questions == ["tea"]
    with pytest.raises(ValueError, match="no lessons"):
        next(batches([TextLesson("rain", ("a letter",), (False,))], 1, seed=1))
