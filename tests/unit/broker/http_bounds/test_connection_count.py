"""Who takes whose place where there are as many connections as are held."""

from __future__ import annotations

import logging
import resource

import pytest

from memshare_broker.http_bounds.bounded_connection import ConnectionCount, count_for_this_process


class Held:
    def __init__(self) -> None:
        self.gave_way = False

    def give_way(self) -> None:
        self.gave_way = True


def test_the_one_that_has_waited_longest_gives_way() -> None:
    count, (first, second, third, fourth) = ConnectionCount(3, 3), (Held(), Held(), Held(), Held())
    for one in (first, second, third):
        assert count.enter(one, None)
    count.works(first)
    count.waits(first)

    assert count.enter(fourth, None)

    assert [one.gave_way for one in (first, second, third)] == [False, True, False]


def test_an_address_gives_way_to_itself_and_to_others_when_all_is_full() -> None:
    count, greedy, other = ConnectionCount(4, 3), [Held() for _ in range(4)], Held()
    for one in greedy:
        assert count.enter(one, "192.0.2.1")
    assert [one.gave_way for one in greedy] == [True, False, False, False]

    assert count.enter(Held(), "192.0.2.2")
    assert count.enter(other, "192.0.2.2")

    assert [one.gave_way for one in greedy] == [True, True, False, False]
    assert not other.gave_way


def test_one_that_is_being_answered_never_gives_way() -> None:
    count, working = ConnectionCount(2, 2), [Held(), Held()]
    for one in working:
        assert count.enter(one, "192.0.2.1")
        count.works(one)

    assert not count.enter(Held(), "192.0.2.2")
    count.leave(working[0])
    count.leave(working[0])
    assert count.enter(Held(), "192.0.2.2")

    assert not any(one.gave_way for one in working)


@pytest.mark.parametrize(
    ("other", "same"),
    [("2001:db8::2", True), ("2001:db8:0:1::1", False), ("::ffff:192.0.2.1", False), ("192.0.2.1", False)],
)
def test_a_network_of_ipv6_is_one_address(other: str, same: bool) -> None:
    count, one = ConnectionCount(9, 1), Held()
    count.enter(one, "2001:db8::1")

    count.enter(Held(), other)

    assert one.gave_way == same


def test_it_is_logged_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    times = iter((1.0, 59.0, 61.0, 62.0))
    count = ConnectionCount(1, 1, clock=lambda: next(times))

    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            count.enter(Held(), "192.0.2.1")

    assert len(caplog.records) == 2


def test_half_of_the_files_of_a_process_are_left_to_itself() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
    try:
        count = count_for_this_process()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    held = [Held() for _ in range(101)]
    for number, one in enumerate(held):
        count.enter(one, f"192.0.2.{number}")
    assert [one.gave_way for one in held] == [True] + [False] * 100
