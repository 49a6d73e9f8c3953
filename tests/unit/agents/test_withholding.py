from __future__ import annotations

from collections import Counter

import pytest

from memshare_agents.answering import withhold_one
from memshare_memory.door.messages import Found
from tests.support.memories import remembered

FOUND = [Found(memory=remembered(f"memory {number}")[0], similarity=0.5) for number in range(3)]
TASKS = [f"task {number}" for number in range(20_000)]


def test_one_task_in_twenty_loses_one_memory_and_each_place_is_drawn_as_often() -> None:
    drawn = [withhold_one(task, FOUND, 0.05) for task in TASKS]

    withheld = Counter(one.withheld.memory.prompt for one in drawn if one.withheld)
    assert sum(withheld.values()) == pytest.approx(1_000, abs=120)  # four standard deviations
    assert all(times == pytest.approx(333, abs=75) for times in withheld.values())
    assert len(withheld) == 3
    assert all(one.randomized for one in drawn)
    for one in drawn:
        left = [each for each in FOUND if each != one.withheld]
        assert list(one.shown) == left


def test_a_task_that_is_delivered_again_gets_the_same_draw() -> None:
    first = [withhold_one(task, FOUND, 0.5) for task in TASKS[:50]]

    assert [withhold_one(task, FOUND, 0.5) for task in TASKS[:50]] == first
    assert len({one.withheld is None for one in first}) == 2


def test_a_larger_share_withholds_from_the_same_tasks_and_from_more() -> None:
    few, many = ({task for task in TASKS if withhold_one(task, FOUND, share).withheld} for share in (0.05, 0.1))

    assert few < many


@pytest.mark.parametrize(("found", "share"), [(FOUND, 0.0), ([], 1.0)])
def test_nothing_is_compared_where_nothing_can_be_withheld(found: list[Found], share: float) -> None:
    assert withhold_one("a task", found, share) == (tuple(found), None, False)
