"""Attacks on every door for some seconds, beside honest tasks; how long these take is for the long run alone."""

from __future__ import annotations

from pathlib import Path

from tests.faults.attack import attack


def test_attacks_beside_kills_lose_no_honest_task(tmp_path: Path) -> None:
    found = attack(tmp_path, minutes=0.2, rate=4, kill_every=4)

    assert (found.unended, found.lost, found.missing, found.duplicates, found.crashes) == (0, 0, 0, 0, ())
    assert found.kills == 2
    assert found.tasks > 40
    assert len([name for name, times in found.blows.items() if times > 10]) >= 7, found.blows
