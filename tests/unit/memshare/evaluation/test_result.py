from __future__ import annotations

from collections.abc import Mapping

import pytest

from memshare.evaluation.lab import Measured, length_of
from memshare.evaluation.result import ALL, rows_of


def measured(item: str, condition: str, score: float | None, marks: Mapping[str, float] | None = None) -> Measured:
    return Measured(
        condition=condition,
        model="offline",
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
    )


def test_a_row_compares_pair_by_pair_with_the_baseline() -> None:
    some = [
        *(measured(item, "0 memories", score) for item, score in zip("abcd", (10.0, 20.0, 30.0, None), strict=True)),
        *(measured(item, "3 memories", score) for item, score in zip("abcd", (40.0, 50.0, 90.0, 99.0), strict=True)),
    ]

    rows = {(row.condition, row.kind): row for row in rows_of(some, "0 memories")}

    base, three = rows["0 memories", ALL], rows["3 memories", ALL]
    assert base.score is not None
    assert (base.items, base.failed, base.score.mean, base.gain, base.p) == (4, 1, 20, None, None)
    # Item d has no score to compare with: it counts in the mean, and not in the gain.
    assert (three.items, three.gain, three.accepted) == (4, pytest.approx(40), 0.5)
    assert three.p == pytest.approx(0.25)
    assert rows["3 memories", "riddle"].items == rows["3 memories", "pun"].items == 2


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
