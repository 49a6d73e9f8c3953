"""Attacks on every door for some seconds, beside honest tasks; how long these take is for the long run alone."""

from __future__ import annotations

from pathlib import Path

from memshare.operations.caller import Tokens
from tests.faults.attack import MOST_LIES, attack, door
from tests.faults.cluster import Setup, cluster
from tests.faults.plot import GROUP, THINGS, Plot


def test_attacks_beside_kills_lose_no_honest_task(tmp_path: Path) -> None:
    found = attack(tmp_path, minutes=0.2, rate=4, kill_every=4)

    assert (found.unended, found.lost, found.missing, found.duplicates, found.crashes) == (0, 0, 0, 0, ())
    assert found.kills == 2
    assert found.tasks > 40
    assert len([name for name, times in found.blows.items() if times > 10]) >= 10, found.blows


def test_lies_of_those_who_talk_themselves_up_are_stored_and_not_shown(tmp_path: Path) -> None:
    with (
        cluster(tmp_path, Setup(latency=0.05, embedded=True, short=True), None) as made,
        door(made, tmp_path) as (url, _),
    ):
        plot = Plot(url, Tokens(made.direct), made.client, THINGS[::2], GROUP[:3])
        plot.strike()
        assert made.wait_for(lambda: made.open_messages() == 0, 120)

        assert plot.lies() > 20, "the attack works"
        assert plot.places() <= MOST_LIES
