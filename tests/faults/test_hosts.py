"""Several hosts for real: each worker has a network of its own, and one is cut off while tasks are in flight."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.faults.hosts import network, no_hosts
from tests.faults.run import forget, run
from tests.faults.scenarios import SCENARIOS
from tests.faults.verdict import failings
from tests.support.qdrant_server import NAMED

TASKS, SIZE = 30, 0.2


@pytest.fixture(autouse=True, scope="module")
def _hosts() -> None:
    if why_not := no_hosts():
        pytest.skip(why_not)


def test_a_host_that_was_cut_off_works_again_without_a_restart_and_nothing_is_lost() -> None:
    scenario = next(one for one in SCENARIOS if one.name == "host cut off")

    result = run(scenario, TASKS, NAMED, SIZE)

    assert failings(result) == [], result
    assert result.struck == 1  # its worker was missed, and came back as the same process
    assert result.crashes == ()
    assert result.count is not None
    assert result.count.submitted == TASKS + 1  # and the one that tells when all works again
    assert result.count.unended == result.count.lost == result.count.duplicates == 0
    assert result.count.stored > 0
    forget(result)


def test_nothing_of_a_network_is_left_after_ctrl_c() -> None:
    def left() -> str:
        names, links = (
            subprocess.run(["ip", *words], capture_output=True, text=True, check=True).stdout
            for words in (["netns"], ["-brief", "link"])
        )
        own = (f"memshare-{os.getpid()}-", f"ms{os.getpid()}@")
        return "\n".join(line for line in (names + links).splitlines() if line.startswith(own))

    def interrupted() -> None:
        with network(["one", "another"]):
            assert "another" in left()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    assert left() == ""
