from __future__ import annotations

import pytest

from memshare.memory_service.admit.probation import vouched
from memshare.memory_service.memory import Memory
from memshare.memory_service.recall.recall import Recall
from tests.support.graded import graded
from tests.support.memories import remembered


@pytest.fixture
def memory() -> Memory:
    return remembered("A lamp", submitter="eve", status="probation", task_id="own")[0]


def after(recall: Recall, memory: Memory, tasks: list[tuple[str, str]], *, alone: bool = False) -> Memory:
    for submitter, journey in tasks:
        pair = graded(recall, "A shoe", "There was a shoe", submitter=submitter, journey=journey)
        memory = vouched(memory, pair.task, alone=alone)
    return memory


@pytest.mark.parametrize(
    ("tasks", "status"),
    [
        ([], "probation"),
        ([("ada", "1")], "probation"),
        ([("ada", "1"), ("bob", "2")], "active"),
        ([("ada", "1"), ("ada", "2")], "probation"),
        ([("ada", "1"), ("ada", "2"), ("ada", "3")], "active"),
        ([("ada", "1"), ("ada", "1"), ("ada", "1")], "probation"),
        ([("eve", "1"), ("eve", "2"), ("eve", "3"), ("eve", "4")], "probation"),
        ([("eve", "1"), ("ada", "2"), ("eve", "3")], "probation"),
    ],
)
def test_it_takes_tasks_of_two_others_or_three_of_one_to_trust_a_memory(
    recall: Recall, memory: Memory, tasks: list[tuple[str, str]], status: str
) -> None:
    assert after(recall, memory, tasks).status == status


def test_who_is_alone_in_a_pool_vouches_by_three_tasks(recall: Recall, memory: Memory) -> None:
    tasks = [("eve", "1"), ("eve", "2"), ("eve", "3")]

    assert after(recall, memory, tasks[:2], alone=True).status == "probation"
    assert after(recall, memory, tasks, alone=True).status == "active"
