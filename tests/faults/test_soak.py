"""A soak of a quarter of a minute, and what a soak fails for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.drift import Drift, drifts
from tests.faults.pace import Answered
from tests.faults.run import Result
from tests.faults.soak import soak
from tests.faults.usage import Look, RedisBytes
from tests.faults.verdict import failings

END = 100.0


def test_workers_that_are_restarted_in_turn_under_load_lose_nothing_and_do_nothing_twice(tmp_path: Path) -> None:
    soaked = soak(tmp_path, minutes=0.25, rate=4, rounds=1, burst=10)

    result = Result("soak", count=soaked.count, in_flight=1, recovered=0.0, crashes=soaked.crashes)
    assert failings(result) == []
    assert soaked.restarts == 5
    assert soaked.count.submitted > 60
    assert soaked.count.stored > 0
    assert all(one.early > 0 and one.late > 0 for one in soaked.drifts), "every figure was measured"


def test_what_stays_as_it_is_is_no_drift() -> None:
    assert not any(one.is_too_much for one in figures())


@pytest.mark.parametrize(
    ("grown", "name"),
    [
        ({"rss": 1.1}, "memory, memory"),
        ({"files": 1.1}, "memory, open files"),
        ({"journey": 1.1}, "Redis, of a journey"),
        ({"working": 1.1}, "Redis, to work with"),
        ({"seconds": 1.1}, "latency p99"),
    ],
)
def test_what_grows_by_a_tenth_is_named(grown: dict[str, float], name: str) -> None:
    found = figures(answered=None, **grown)

    assert name in [one.name for one in found if one.is_too_much]


def test_what_takes_less_at_the_end_is_no_drift() -> None:
    shrunk = figures(rss=0.5, files=0.5, journey=0.5, working=0.5, seconds=0.5)

    assert not any(one.is_too_much for one in shrunk)


def test_one_bad_minute_decides_nothing() -> None:
    seconds = [0.1 if number // 100 != 17 else 9.0 for number in range(2_000)]
    answered = [Answered(END * number / 2_000, of_one) for number, of_one in enumerate(seconds)]

    assert not any(one.is_too_much for one in figures(answered=answered))


def figures(
    rss: float = 1,
    files: float = 1,
    journey: float = 1,
    working: float = 1,
    seconds: float = 1,
    answered: list[Answered] | None = None,
) -> list[Drift]:
    """The figures of a run at whose last quarter each has grown by a factor."""

    def late(at: float, factor: float) -> float:
        return factor if at >= END * 3 / 4 else 1

    moments = [END * number / 2_000 for number in range(2_000)]
    looks = [Look(at, "memory", round(3e8 * late(at, rss)), round(100 * late(at, files))) for at in moments]
    answered = answered or [Answered(at, 0.1 * late(at, seconds)) for at in moments]
    redis = RedisBytes(2_000, 5_000), RedisBytes(2_000 * journey, 5_000 * working)
    return list(drifts(looks, answered, redis, END / 4, END))
