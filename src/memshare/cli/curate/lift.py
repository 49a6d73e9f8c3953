"""The lift of memories, as commands tell it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memshare.terminal.console import console
from memshare_memory.recall.how_many import Tried
from memshare_memory.recall.lift import Lift


def lift_in_words(lift: Lift) -> str:
    """The points with their standard error, or how much is missing."""
    if lift.points is None or lift.error is None:
        return f"not known yet: {lift.withheld} of {lift.needed} tasks with one withheld at random"
    counts = f"{lift.shown:,} tasks with all shown, {lift.withheld:,} with one withheld at random"
    return f"{lift.points:+.1f} ± {lift.error:.1f} points ({counts})"


def tried_in_words(one: Tried) -> str:
    """How many memories are shown, and what tasks scored with each number."""
    scores = ", ".join(
        f"{one.scores[number]:.0f} with {number} ({one.tasks[number]:,})" for number in sorted(one.tasks)
    )
    harm = ": memories do not help here" if one.best == 0 else ""
    lift = "" if one.lift is None else f"; being shown any is worth {one.lift:+.1f} ± {one.error:.1f} points"
    return f"{one.best}{harm}; mean score {scores}{lift}"


def print_lifts(of_pools: Mapping[str, Lift], tried: Mapping[str, Sequence[Tried]]) -> None:
    """A line for each pool, and one for each model and kind for which it is learnt how many memories are shown."""
    if of_pools:
        console.print()
    for pool, lift in of_pools.items():
        console.print(f"Lift of a memory shown in {pool}: {lift_in_words(lift)}.")
    for pool, found in tried.items():
        for one in found:
            what = f"{pool}, {one.kind or 'all kinds'}, by {one.model}"
            console.print(f"Memories shown in {what}: {tried_in_words(one)}.")
