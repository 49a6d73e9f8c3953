"""A short version of the fault-injection run: some of its scenarios, one after the other, with few tasks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults.cluster import Setup, cluster
from tests.faults.count import Count
from tests.faults.load import Load
from tests.faults.run import Result, strike
from tests.faults.scenarios import SCENARIOS
from tests.faults.verdict import failings
from tests.faults.worker_process import ROOT
from tests.support.qdrant_server import NAMED

TASKS, SIZE = 24, 0.12
GOOD = Result(
    name="as it must be",
    in_flight=60,
    struck=5,
    recovered=1.0,
    ended=10.0,
    count=Count(
        submitted=60, answered=59, graded=59, stored=50, dead={"gave-up": 1}, refused=1, lost=0, open=0, unended=0,
        told_failure=0, untold=0, duplicates=0, missing=0, unknown=0, miscounted={}, lessons=40, lessons_twice=0,
        credits_amiss=0,
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    ("setup", "names"),
    [
        (Setup(latency=0.05, line=0.005), ["kill -9", "Redis killed", "chat fails"]),
        (Setup(latency=0.05, embedded=True, together=True), ["memory killed", "memory garbage", "backup"]),
    ],
    ids=["each worker", "memory service"],
)
def test_every_accepted_task_ends_and_nothing_counts_twice_whatever_breaks(
    setup: Setup, names: list[str], tmp_path: Path
) -> None:
    by_name = {one.name: one for one in SCENARIOS}
    with cluster(tmp_path, replace(setup, short=True), NAMED) as made:
        load = Load(made.client, trickle_every=1)
        for number, name in enumerate(names, 1):
            result = strike(made, load, by_name[name], TASKS, SIZE)

            assert failings(result) == [], result
            assert result.count is not None
            assert result.count.submitted >= number * (TASKS + 1)  # one more tells when all works again
            assert result.count.stored > 0
            assert result.count.lessons > 0


def test_the_page_on_failure_has_a_row_for_each_scenario_and_says_what_it_breaks() -> None:
    page = (ROOT / "docs" / "failure.md").read_text(encoding="utf-8")

    rows = [line.split(" | ")[:2] for line in page.split("| fault |")[1].split("\n\n")[0].splitlines()[2:]]

    assert [[name.removeprefix("| "), breaks] for name, breaks in rows] == [[one.name, one.breaks] for one in SCENARIOS]


@pytest.mark.parametrize(
    "wrong",
    [
        {"unended": 1},
        {"told_failure": 1},
        {"open": 1},
        {"dead": {"bug": 1}, "refused": 1},
        {"dead": {"crash": 1}, "refused": 0},
        {"dead": {"gave-up": 1, "malformed": 1}, "hostile": 1},
        {"duplicates": 1},
        {"missing": 1},
        {"unknown": 1},
        {"miscounted": {"settle": 1}},
        {"lessons_twice": 1},
        {"credits_amiss": 1},
        {"unnamed": 1},
        {"named_twice": 1},
    ],
)
def test_a_run_fails_for_each_thing_that_must_not_be(wrong: dict[str, object]) -> None:
    assert GOOD.count is not None

    assert failings(GOOD) == []
    assert len(failings(replace(GOOD, count=replace(GOOD.count, **wrong)))) == 1


@pytest.mark.parametrize("wrong", [{"crashes": ("scorer ended by itself with status 1",)}, {"recovered": None}])
def test_a_run_fails_where_a_worker_crashes_or_nothing_works_again(wrong: dict[str, object]) -> None:
    assert len(failings(replace(GOOD, **wrong))) == 1


def test_a_run_fails_where_what_was_under_way_takes_longer_than_it_may() -> None:
    in_time = replace(GOOD, drained=(11.0, 40.0), drains_within=40.0)

    assert failings(in_time) == []
    assert len(failings(replace(in_time, drained=(11.0, 74.0)))) == 1
    assert failings(replace(in_time, drained=(11.0, 74.0), drains_within=None)) == []


@pytest.mark.parametrize("empty", [{"struck": 0}, {"struck": 1, "strikes": 2}, {"in_flight": 0}, {"loses": True}])
def test_a_run_that_proves_nothing_fails(empty: dict[str, object]) -> None:
    assert "proves nothing" in failings(replace(GOOD, **empty))[0]
