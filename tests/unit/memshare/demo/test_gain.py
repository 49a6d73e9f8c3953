"""The parts of the questions, and what is counted of them."""

from __future__ import annotations

from uuid import UUID

import pytest

from memshare.demo.gain import DemoStage, Gain, GainQuestion, divide, most_helpful
from memshare.demo.text_to_sql import Questions, SqlQuestion, read_questions
from memshare_memory.memory import Memory
from memshare_memory.stores.store import Where


@pytest.fixture(scope="module")
def library() -> Questions:
    return read_questions()


@pytest.mark.parametrize("tasks", [20, 200, 240])
def test_no_question_is_in_two_parts(library: Questions, tasks: int) -> None:
    parts = divide(library, tasks)

    texts = [one.text for part in (parts.shared, parts.tasks, parts.exam) for one in part]
    assert len(set(texts)) == len(texts) == 2 * tasks + tasks // 2
    assert parts.asked == tasks + 5 * (tasks // 2)


def test_another_seed_divides_the_questions_otherwise(library: Questions) -> None:
    assert divide(library, 40) == divide(library, 40, 2) != divide(library, 40, 3)


def test_what_nothing_graded_counts_neither_as_right_nor_as_wrong(library: Questions) -> None:
    question = library.of("train")[0]
    stage = DemoStage("task", "tasks", 4)
    stage.asked += [GainQuestion(question, right, (), None) for right in (True, False, True)]
    stage.asked.append(GainQuestion(question, None, (), "The check failed."))

    assert (stage.right, stage.graded, stage.share) == (2, 3, pytest.approx(2 / 3))
    assert stage.faults == ["The check failed."]
    assert DemoStage("alone", "alone", 4).share == 0


def test_a_gain_is_of_the_same_questions(library: Questions) -> None:
    questions = library.of("train")[:5]
    before, after = DemoStage("alone", "alone", 5), DemoStage("learnt", "after", 5)
    before.asked += [
        GainQuestion(one, right, (), None) for one, right in zip(questions, (0, 0, 1, 1, None), strict=True)
    ]
    after.asked += [
        GainQuestion(one, right, (), None) for one, right in zip(questions[::-1], (1, 1, 0, 1, 1), strict=True)
    ]

    gain = Gain.between(before, after)

    assert (gain.share, gain.won, gain.lost) == (0.25, 2, 1)
    assert Gain.between(before, DemoStage("learnt", "after", 5)).as_json() == {
        "share": 0.0, "won": 0, "lost": 0, "low": None, "high": None
    }  # fmt: skip


@pytest.fixture(scope="module")
def forms(library: Questions) -> list[SqlQuestion]:
    """A question of each form."""
    return [*{one.query.number: one for one in library.of("train")}.values()]


def test_a_gain_of_ten_forms_or_more_has_an_interval(library: Questions, forms: list[SqlQuestion]) -> None:
    questions = forms[:20]
    before, after = (DemoStage("alone", "alone", 20), DemoStage("learnt", "after", 20))
    before.asked += [GainQuestion(one, False, (), None) for one in questions]
    after.asked += [GainQuestion(one, at < 10, (), None) for at, one in enumerate(questions)]

    gain = Gain.between(before, after)

    assert (gain.share, gain.won, gain.lost) == (0.5, 10, 0)
    assert gain.low is not None
    assert gain.high is not None
    assert 0.2 < gain.low < 0.3 < 0.6 < gain.high < 0.75

    of_nine = [one for one in library.of("train") if one.query.number in {form.query.number for form in forms[:9]}]
    before.asked = [GainQuestion(one, False, (), None) for one in of_nine]
    after.asked = [GainQuestion(one, True, (), None) for one in of_nine]
    assert len(of_nine) > 50
    assert Gain.between(before, after).low is None


def test_questions_of_a_form_that_fare_alike_make_the_interval_wider(
    library: Questions, forms: list[SqlQuestion]
) -> None:
    won = {one.query.number for one in forms[::3]}
    before, after, apart = (DemoStage(kind, kind, 845) for kind in ("off", "learnt", "learnt"))  # type: ignore[arg-type]
    for at, one in enumerate(library.of("train")):
        before.asked.append(GainQuestion(one, False, (), None))
        after.asked.append(GainQuestion(one, one.query.number in won, (), None))
        apart.asked.append(GainQuestion(one, at % 3 == 0, (), None))

    wide, narrow = ((one.high or 0) - (one.low or 0) for one in (Gain.between(before, of) for of in (after, apart)))

    assert wide > 3 * narrow


class Pool:
    """The memories of a client's pool."""

    def __init__(self, *memories: Memory) -> None:
        self.memories, self._there = self, memories

    def every(self, _: Where) -> tuple[Memory, ...]:
        return self._there


def test_a_question_counts_once_for_a_memory_in_however_many_stages_it_was_right(library: Questions) -> None:
    by_query: dict[int, list[SqlQuestion]] = {}
    for one in library.of("train"):
        by_query.setdefault(one.query.number, []).append(one)
    brought, once, twice, *_ = next(found for found in by_query.values() if len(found) > 2)
    memory = Memory(id=UUID(int=1), pool="sql", prompt=brought.text, answer=brought.sql, created=1)
    stages = [DemoStage("shared", "shared", 2), DemoStage("learnt", "learnt", 2)]
    stages[0].asked += [GainQuestion(one, True, (memory.id,), None) for one in (once, twice)]
    stages[1].asked += [GainQuestion(once, True, (memory.id,), None)]

    helped = most_helpful(Pool(memory), stages, library)  # type: ignore[arg-type]

    assert helped is not None
    assert helped.questions == (once.text, twice.text)
