from __future__ import annotations

from memshare_memory.encoders.shared_batches import FairQueue


def test_short_work_comes_before_long_and_the_older_first_of_two_alike() -> None:
    queue: FairQueue[str] = FairQueue()
    for owner, cost, work in (("ada", 100, "long"), ("bob", 10, "first"), ("eve", 10, "second")):
        queue.put(owner, cost, work)

    assert [queue.take(1) for _ in range(4)] == [["first"], ["second"], ["long"], []]


def test_owners_take_turns_however_much_one_of_them_has() -> None:
    queue: FairQueue[str] = FairQueue()
    for number in range(9):
        queue.put("ada", 10, f"ada {number}")
    for number in range(2):
        queue.put("bob", 10, f"bob {number}")

    taken = [work for _ in range(11) for work in queue.take(1)]

    assert [taken.index(f"bob {number}") for number in range(2)] == [1, 3]


def test_long_work_has_its_turn_though_short_work_keeps_coming() -> None:
    queue: FairQueue[str] = FairQueue()
    queue.put("ada", 1_000, "long")
    queue.put("bob", 10, "short")
    overtaken = 0

    while queue.take(1) != ["long"]:
        queue.put("bob", 10, "short")
        overtaken += 1
        assert overtaken < 200

    assert overtaken > 50


def test_as_much_is_taken_at_once_as_costs_no_more_than_wanted() -> None:
    queue: FairQueue[int] = FairQueue()
    for cost in (40, 40, 30, 500):
        queue.put(f"owner {cost}", cost, cost)

    assert [queue.take(100) for _ in range(3)] == [[30, 40], [40], [500]]
