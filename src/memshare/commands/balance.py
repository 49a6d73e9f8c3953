"""Own and foreign memories in balance, as `memshare memories stats` tells it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memshare.console import console, table
from memshare.memory_service.recall.balance import Balance, Side


def balance_as_json(of_kinds: Mapping[str, Balance]) -> dict[str, Any]:
    """The balance of each kind of a pool."""
    return {
        kind: {"own": one.own._asdict(), "foreign": one.foreign._asdict(), "shift": one.shift}
        for kind, one in of_kinds.items()
    }


def print_balance(of_pools: Mapping[str, Mapping[str, Balance]]) -> None:
    """A table of the kinds for which memories of several models were credited; nothing where one model writes all."""
    rows = [
        (pool, kind or "–", _side(one.own), _side(one.foreign), f"{one.shift:+.1%}")
        for pool, of_kinds in of_pools.items()
        for kind, one in of_kinds.items()
        if one.own.credits and one.foreign.credits
    ]
    if rows:
        console.print()
        console.print(table("pool", "kind", "own memories", "of other models", "own rise by", rows=rows))
        console.print("Their mean reward, where 1 is usual, and by how many credits.", style="dim")


def _side(side: Side) -> str:
    return f"{side.mean:.2f} ({side.credits:.0f})"
