"""The lift of memories, as commands tell it."""

from __future__ import annotations

from collections.abc import Mapping

from memshare.terminal.console import console
from memshare_memory.recall.lift import Lift


def lift_in_words(lift: Lift) -> str:
    """The points with their standard error, or how much is missing."""
    if lift.points is None or lift.error is None:
        return f"not known yet: {lift.withheld} of {lift.needed} tasks with one withheld at random"
    counts = f"{lift.shown:,} tasks with all shown, {lift.withheld:,} with one withheld at random"
    return f"{lift.points:+.1f} ± {lift.error:.1f} points ({counts})"


def print_lifts(of_pools: Mapping[str, Lift]) -> None:
    """A line for each pool."""
    if of_pools:
        console.print()
    for pool, lift in of_pools.items():
        console.print(f"Lift of a memory shown in {pool}: {lift_in_words(lift)}.")
