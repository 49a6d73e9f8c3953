"""The parts of the questions, and what is counted of them."""

from __future__ import annotations

import pytest

from memshare.demo.gain import DemoStage, GainQuestion, divide
from memshare.demo.text_to_sql import Questions, read_questions


@pytest.fixture(scope="module")
def library() -> Questions:
    return read_questions()


@pytest.mark.parametrize("tasks", [20, 200, 240])
def test_no_question_is_in_two_parts(library: Questions, tasks: int) -> None:
    parts = divide(library, tasks)

    texts = [one.text for part in (parts.shared, parts.tasks, *parts.exams) for one in part]
    assert len(set(texts)) == len(texts) == 2 * tasks + 3 * (tasks // 2)
    assert parts.asked == tasks + 3 * (tasks // 2)


def test_what_nothing_graded_counts_neither_as_right_nor_as_wrong(library: Questions) -> None:
    question = library.of("train")[0]
    stage = DemoStage("task", "tasks", 4)
    stage.asked += [GainQuestion(question, right, (), None) for right in (True, False, True)]
    stage.asked.append(GainQuestion(question, None, (), "The check failed."))

    assert (stage.right, stage.graded, stage.share) == (2, 3, pytest.approx(2 / 3))
    assert stage.faults == ["The check failed."]
    assert DemoStage("alone", "alone", 4).share == 0
