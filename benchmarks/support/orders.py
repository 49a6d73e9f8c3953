"""What is measured in several orders, each in new deployments, is told as medians over them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from memshare.terminal.console import errors

ORDERS = (1, 2, 3)

Figures = dict[str, Any]
Say = Callable[[str], None]
"""Is told how far an experiment has come."""


def middle(values: Sequence[Any]) -> Any:
    """The median of numbers, figure by figure where they are named; of anything else the first that is known."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    first = known[0]
    if isinstance(first, Mapping):
        return {name: middle([value.get(name) for value in known]) for name in first}
    if isinstance(first, int | float) and not isinstance(first, bool):
        return round(median(known), 4)
    return first


def teller(what: str) -> Say:
    """Says on stderr how far it is, and for how long it has run."""
    started = time.monotonic()
    return lambda done: errors.print(f"{what}, {time.monotonic() - started:.0f} s: {done}", style="dim")
