from __future__ import annotations

import random

from memshare.evaluation.report import choose, findings
from memshare.evaluation.result import ALL
from tests.support.experiments import cell, result_of

BEFORE = [50.0 + number for number in range(20)]


def shifted(by: float) -> list[float | None]:
    noise = random.Random(3)
    return [score + by + noise.gauss(0, 2) for score in BEFORE]


def test_a_gain_and_a_loss_are_said_with_the_figures_of_the_table() -> None:
    measured = cell("0 memories", BEFORE) + cell("1 memory", shifted(-10)) + cell("3 memories", shifted(10))
    result = result_of(measured)

    one, three = findings(result)

    [row] = [row for row in result.rows if row.kind == ALL and row.condition == "1 memory"]
    assert row.gain is not None
    assert one.text == f"1 memory: {row.gain:+.1f} points against 0 memories (p < 0.001, 20 items)"
    assert (one.verdict, three.verdict) == ("lower", "higher")


def test_a_difference_that_may_be_chance_is_not_called_one() -> None:
    measured = cell("0 memories", (50, 60, 70)) + cell("3 memories", (80, 50, 75))

    [found] = findings(result_of(measured))

    assert found.verdict == "no clear difference"
    assert "p 0.750, 3 items" in found.text


def test_where_nothing_was_asked_twice_nothing_is_found() -> None:
    measured = cell("0 memories", (50, 60))
    measured += [one.model_copy(update={"item": f"other {one.item}"}) for one in cell("3 memories", (70, 80))]

    assert findings(result_of(measured)) == []


def test_of_phases_the_first_and_the_last_are_compared() -> None:
    measured = cell("0 memories", BEFORE)
    for phase, by in (("0 %", -9.0), ("50 %", 1.0), ("100 %", 9.0)):
        measured += cell("3 memories", shifted(by), phase=phase)

    first, last = findings(result_of(measured))

    assert first.text.startswith("3 memories (phase 0 %): -9.1 points")
    assert last.text.startswith("3 memories (phase 100 %): +8.9 points")
    assert (first.verdict, last.verdict) == ("lower", "higher")


def test_each_model_is_compared_with_itself() -> None:
    measured = []
    for model, by in (("a", 10.0), ("b", -10.0)):
        measured += cell("0 memories", BEFORE, model=model) + cell("3 memories", shifted(by), model=model)

    one, two = findings(result_of(measured))

    assert one.text.startswith("a, 3 memories: +9.9 points")
    assert two.text.startswith("b, 3 memories: -10.1 points")


def test_the_median_the_largest_gain_and_the_largest_loss_are_shown() -> None:
    measured = cell("0 memories", (50, 50, 50, 50, 50)) + cell("3 memories", (53, 20, 90, 51, 54), memories=3)

    rule, examples = choose(result_of(measured), measured)

    assert [(one.why, one.gain, one.after.item) for one in examples] == [
        ("the median gain", 3, "item 0"),
        ("the largest gain", 40, "item 2"),
        ("the largest loss", -30, "item 1"),
    ]
    assert all(one.before.item == one.after.item for one in examples)
    assert "all 5 tasks that were graded with 0 memories and with 3 memories" in rule


def test_where_nothing_was_lost_no_loss_is_shown() -> None:
    measured = cell("0 memories", (50, 50)) + cell("3 memories", (50, 70), memories=3)

    _, examples = choose(result_of(measured), measured)

    assert [one.why for one in examples] == ["the median gain", "the largest gain"]


def test_a_task_that_failed_is_no_example() -> None:
    measured = cell("0 memories", (None, 50, 50)) + cell("3 memories", (99, None, 60), memories=3)

    _, examples = choose(result_of(measured), measured)

    assert {one.after.item for one in examples} == {"item 2"}
    assert choose(result_of(measured[:4]), measured[:4]) == ("", [])


def test_the_condition_that_showed_most_is_compared_and_the_last_of_several() -> None:
    shown = {"added": 3, "changed": 3, "deleted": 1}
    measured = cell("0 memories", (50,))
    measured += [one for name, many in shown.items() for one in cell(name, (60,), memories=many)]

    _, examples = choose(result_of(measured), measured)

    assert {one.after.condition for one in examples} == {"changed"}


def test_the_pairs_are_those_of_the_same_model() -> None:
    measured = []
    for model, before, after in (("a", 10.0, 20.0), ("b", 80.0, 70.0)):
        measured += cell("0 memories", (before,), model=model)
        measured += cell("3 memories", (after,), model=model, memories=3)

    _, examples = choose(result_of(measured), measured)

    assert {one.why: (one.after.model, one.gain) for one in examples} == {
        "the median gain": ("b", -10),
        "the largest gain": ("a", 10),
        "the largest loss": ("b", -10),
    }
