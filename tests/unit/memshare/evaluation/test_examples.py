from __future__ import annotations

from memshare.evaluation.examples import choose, most_shown
from memshare.evaluation.findings import Cell
from tests.support.experiments import cell, result_of


def test_the_median_the_largest_gain_and_the_largest_loss_are_shown() -> None:
    measured = [
        *cell("0 memories", (50, 50, 50, 50, 50)),
        *cell("3 memories", (53, 20, 90, 51, 54), memories=3),
    ]

    examples = choose(result_of(measured), measured)

    assert examples is not None
    assert [(one.why, one.gain, one.after.item) for one in examples.chosen] == [
        ("the median gain", 3, "item 0"),
        ("the largest gain", 40, "item 2"),
        ("the largest loss", -30, "item 1"),
    ]
    assert all(one.before.item == one.after.item for one in examples.chosen)
    assert examples.absent == ()
    assert "all 5 tasks that were graded with 0 memories and with 3 memories" in examples.rule


def test_where_nothing_was_lost_no_loss_is_shown_and_that_is_said() -> None:
    measured = [*cell("0 memories", (50, 50)), *cell("3 memories", (50, 70), memories=3)]

    examples = choose(result_of(measured), measured)

    assert examples is not None
    assert [one.why for one in examples.chosen] == ["the median gain", "the largest gain"]
    assert examples.absent == ("The largest loss: there is none among the 2 pairs.",)


def test_a_task_that_failed_is_no_example() -> None:
    measured = [*cell("0 memories", (None, 50, 50)), *cell("3 memories", (99, None, 60), memories=3)]

    examples = choose(result_of(measured), measured)

    assert examples is not None
    assert {one.after.item for one in examples.chosen} == {"item 2"}
    assert choose(result_of(measured[:4]), measured[:4]) is None


def test_the_condition_that_showed_most_is_compared_and_the_last_of_several() -> None:
    measured = [
        *cell("0 memories", (50,)),
        *cell("added", (60,), memories=3),
        *cell("changed", (60,), memories=3),
        *cell("deleted", (60,), memories=1),
    ]

    assert most_shown(measured, "0 memories") == Cell("changed", "")


def test_the_pairs_are_those_of_the_same_model() -> None:
    measured = []
    for model, before, after in (("a", 10.0, 20.0), ("b", 80.0, 70.0)):
        measured += cell("0 memories", (before,), model=model)
        measured += cell("3 memories", (after,), model=model, memories=3)

    examples = choose(result_of(measured), measured)

    assert examples is not None
    assert {one.why: (one.after.model, one.gain) for one in examples.chosen} == {
        "the median gain": ("b", -10),
        "the largest gain": ("a", 10),
        "the largest loss": ("b", -10),
    }
