from __future__ import annotations

from collections.abc import Mapping

import pytest

from memshare.evaluation.lab import Measured, length_of
from memshare.evaluation.result import ALL, judged_by, rows_of
from tests.support.experiments import result_of


def measured(item: str, condition: str, score: float | None, marks: Mapping[str, float] | None = None) -> Measured:
    return Measured(
        condition=condition,
        model="openai:one",
        agent="logic",
        kind="riddle" if item < "c" else "pun",
        item=item,
        task_id=f"{condition} {item}",
        prompt="?",
        reference="!",
        answer="two words",
        score=score,
        accepted=bool(score and score > 80),
        shown=(),
        similarities=(),
        retriever_version=0,
        length=2,
        marks=dict(marks or {}),
        error=None if score is not None else "The key is wrong.",
    )


@pytest.mark.parametrize(
    ("graded_by", "judge", "said", "not_said"),
    [
        (("program",), None, "Graded by programs, which also decided what was remembered", "judge"),
        (("program",), "openai:two", "openai:two was asked nothing", "second judge"),
        (("openai:one",), None, "Only one judge: openai:one graded the answers", "program"),
        (("openai:one", "program"), None, "Graded by programs and openai:one", "Only one judge"),
        (("openai:one", "program"), "openai:two", "by a second judge, openai:two", "Only one judge"),
        ((), None, "Only one judge: openai:set graded the answers", "program"),
    ],
)
def test_it_is_said_who_graded_and_not_who_would_have(
    graded_by: tuple[str, ...], judge: str | None, said: str, not_said: str
) -> None:
    told = judged_by(
        result_of([measured("a", "0 memories", 1.0)], scorer="openai:set", graded_by=graded_by, judge=judge)
    )

    assert said in told
    assert not_said not in told
    assert ("openai:set" in told) == (not graded_by)


def test_a_row_compares_pair_by_pair_with_the_baseline() -> None:
    some = [
        *(measured(item, "0 memories", score) for item, score in zip("abcd", (10.0, 20.0, 30.0, None), strict=True)),
        *(measured(item, "3 memories", score) for item, score in zip("abcd", (40.0, 50.0, 90.0, 99.0), strict=True)),
    ]

    rows = {(row.condition, row.kind): row for row in rows_of(some, "0 memories")}

    base, three = rows["0 memories", ALL], rows["3 memories", ALL]
    assert base.score is not None
    # Item d was given up in the first condition: it counts 0.
    assert (base.items, base.failed, base.score.mean, base.gain, base.p) == (4, 1, 15, None, None)
    assert (three.items, three.gain, three.accepted) == (4, pytest.approx(54.75), 0.5)
    assert three.p == pytest.approx(0.125)
    assert rows["3 memories", "riddle"].items == rows["3 memories", "pun"].items == 2


def test_an_answer_that_its_agent_could_not_verify_counts_nothing_and_is_told_apart_from_one_given_up() -> None:
    unsure = measured("b", "3 memories", None).model_copy(update={"verified": False, "error": None})

    [row, *_] = rows_of([measured("a", "3 memories", 80.0), unsure, measured("c", "3 memories", None)], None)

    assert (row.items, row.failed, row.unverified) == (3, 1, 1)
    assert row.score is not None
    assert row.score.mean == pytest.approx(80 / 3)
    assert row.accepted == 0


def test_bertscore_and_the_second_judge_have_their_gain_and_their_p_too() -> None:
    some = [
        one.model_copy(update={"f1": f1 + more, "judged": 50 + 10 * more})
        for condition, more in (("0 memories", 0.0), ("3 memories", 0.1))
        for f1, one in ((0.1 * number, measured(item, condition, 50.0)) for number, item in enumerate("abcdef"))
    ]

    rows = {(row.condition, row.kind): row for row in rows_of(some, "0 memories", with_judge=True)}

    three = rows["3 memories", ALL]
    assert (three.f1_gain, three.judge_gain) == (pytest.approx(0.1), pytest.approx(1))
    assert three.f1_p == three.judge_p == pytest.approx(2 / 64)
    assert (three.gain, three.p) == (0, 1)
    assert rows["0 memories", ALL].f1_gain is None


def test_what_is_counted_beside_the_score_is_a_mean_of_those_that_have_it() -> None:
    some = [
        measured("a", "added", 50.0, {"said": 1.0}),
        measured("b", "added", 50.0, {"said": 0.0}),
        measured("c", "added", 50.0),
    ]

    [row, *_] = rows_of(some, None)

    assert row.marks["said"].mean == 0.5
    assert row.gain is None


@pytest.mark.parametrize(
    ("text", "length"), [("two words", 2), ("西陸蟬聲唱，南冠客思侵。", 10), ("A café au lait, and a bun.", 7), ("", 0)]
)
def test_length_is_in_words_and_in_characters_of_chinese(text: str, length: int) -> None:
    assert length_of(text) == length
