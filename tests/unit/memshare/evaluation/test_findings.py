from __future__ import annotations

import random

import pytest

from memshare.evaluation.findings import Cell, Difference, difference, findings, scores
from memshare.evaluation.result import ALL
from tests.support.experiments import cell, result_of

BEFORE = [50.0 + number for number in range(20)]


def shifted(by: float) -> list[float | None]:
    noise = random.Random(3)
    return [score + by + noise.gauss(0, 2) for score in BEFORE]


def test_a_gain_and_a_loss_are_said_with_the_figures_of_the_table() -> None:
    measured = [
        *cell("0 memories", BEFORE),
        *cell("1 memory", shifted(-10), memories=1),
        *cell("3 memories", shifted(10), memories=3),
    ]
    result = result_of(measured)

    one, three, last_and_first = findings(result, measured)

    rows = {row.condition: row for row in result.rows if row.kind == ALL}
    assert rows["1 memory"].gain is not None
    assert one.text.startswith(f"1 memory: {rows['1 memory'].gain:+.1f} points against 0 memories (95 % interval -")
    assert one.text.endswith("p < 0.001, 20 pairs)")
    assert (one.verdict, three.verdict) == ("lower", "higher")
    assert (last_and_first.cell, last_and_first.against) == (Cell("3 memories", ""), Cell("1 memory", ""))
    assert last_and_first.text.startswith("3 memories: +20.0 points against 1 memory")


def test_a_difference_that_may_be_chance_is_not_called_one() -> None:
    measured = [*cell("0 memories", (50, 60, 70)), *cell("3 memories", (80, 50, 75), memories=3)]

    [found] = findings(result_of(measured), measured)

    assert found.verdict == "no clear difference"
    assert "p = 0.750, 3 pairs" in found.text


def test_a_gain_in_one_kind_does_not_hide_a_loss_in_another() -> None:
    mixed = [score + (20 if number % 2 else -20) for number, score in enumerate(BEFORE)]
    measured = [*cell("0 memories", BEFORE), *cell("3 memories", mixed, memories=3)]

    [found] = findings(result_of(measured), measured)

    assert found.verdict == "no clear difference"
    assert found.by_kind == "higher in pun (+20.0); lower in riddle (-20.0)"


def test_items_that_are_in_both_are_compared_and_what_was_given_up_counts_nothing() -> None:
    measured = [*cell("0 memories", (50, None, 70)), *cell("3 memories", (60, 99, None, 30), memories=3)]

    found = difference(*(scores(measured, Cell(name, ""), "openai:one") for name in ("3 memories", "0 memories")))

    assert isinstance(found, Difference)
    assert (found.points.mean, found.pairs) == (pytest.approx((10 + 99 - 70) / 3), 3)


def test_bertscore_and_the_second_judge_are_told_beside_the_score() -> None:
    measured = cell("0 memories", (50, 60, 70), judged=40.0) + cell("3 memories", (50, 60, 70), judged=45.0)

    [found] = findings(result_of(measured), measured)

    assert found.verdict == "no clear difference"
    assert found.beside == "BERTScore F1 +0.000, p = 1.000; the second judge +5.0 points, p = 0.250"


def test_where_nothing_was_asked_twice_it_says_so() -> None:
    measured = cell("0 memories", (50, 60))
    measured += [one.model_copy(update={"item": f"other {one.item}"}) for one in cell("3 memories", (70, 80))]

    [found] = findings(result_of(measured), measured)

    assert found.text == "3 memories: not compared with 0 memories, as no item is in both"
    assert found.verdict is None


def test_of_phases_the_first_and_the_last_are_compared_and_what_was_counted_is_said_of_all() -> None:
    measured = cell("0 memories", BEFORE)
    for phase, by, share in (("0 %", -9.0, 0.75), ("50 %", 1.0, 0.5), ("100 %", 9.0, 0.2)):
        measured += cell("3 memories", shifted(by), phase=phase, memories=3, marks={"bad memories shown": share})

    first, last, growth, counted = findings(result_of(measured), measured)

    assert (first.verdict, last.verdict, growth.verdict) == ("lower", "higher", "higher")
    assert growth.text.startswith("3 memories (phase 100 %): +18.0 points against 3 memories (phase 0 %)")
    assert counted.text == "bad memories shown: 75 % (phase 0 %), 50 % (phase 50 %), 20 % (phase 100 %)"


def test_each_model_is_compared_with_itself() -> None:
    measured = []
    for model, by in (("a", 10.0), ("b", -10.0)):
        measured += cell("0 memories", BEFORE, model=model) + cell("3 memories", shifted(by), model=model, memories=3)

    one, two = findings(result_of(measured), measured)

    assert one.text.startswith("a, 3 memories: +9.9 points")
    assert two.text.startswith("b, 3 memories: -10.1 points")
    assert (one.verdict, two.verdict) == ("higher", "lower")
