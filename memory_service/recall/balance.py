"""Own and foreign memories in balance: whether the answering model's help more, or those of others.

For each pool and kind of task the rewards (`memshare.memory_service.recall.reward`) of memories that were shown are
averaged on two sides: own, written by the model that answered, and foreign. With n the lesser of the sides' credits,

    shift = n / (n + 20) · (mean own - mean foreign), kept from -0.1 to 0.1,

and a memory's rank is moved by that share of itself: own ones by the shift, foreign ones by its opposite. What people
wrote belongs to neither side. Where one model writes all, one side is empty, and nothing is shifted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import redis

from memshare.memory_service.memory import Memory

LARGEST = 0.1  # share of a rank
HALF_TRUST = 20  # credits of the lesser side after which the difference counts half

_BETWEEN = "\x1f"


class Side(NamedTuple):
    """The credits of one side, by their weight, and the mean of their rewards."""

    credits: float = 0.0
    mean: float = 0.0


class Balance(NamedTuple):
    """Both sides of a pool and kind."""

    own: Side = Side()
    foreign: Side = Side()

    @property
    def shift(self) -> float:
        """How far own memories rise and foreign ones sink, as a share of their rank; below 0 it is the other way."""
        least = min(self.own.credits, self.foreign.credits)
        shift = least / (least + HALF_TRUST) * (self.own.mean - self.foreign.mean)
        return min(max(shift, -LARGEST), LARGEST)


def moved(balance: Balance, memory: Memory, model: str | None) -> float:
    """By which share of itself a memory's rank moves where this model answers; 0 where it or the writer is unknown."""
    if model is None or memory.model is None:
        return 0.0
    return balance.shift if memory.model == model else -balance.shift


class Earned(NamedTuple):
    """That a memory earned a reward, of some weight."""

    memory: Memory
    reward: float
    weight: float


def sums(kind: str | None, model: str | None, earned: Iterable[Earned]) -> dict[str, float]:
    """What memories earned in an answer that this model gave, by the fields of the pool's hash (`balance_key`)."""
    found: defaultdict[str, float] = defaultdict(float)
    for one in earned:
        if model is not None and one.memory.model is not None:
            side = "own" if one.memory.model == model else "foreign"
            name = _BETWEEN.join((kind or "", side))
            found[f"{name}{_BETWEEN}credits"] += one.weight
            found[f"{name}{_BETWEEN}sum"] += one.weight * one.reward
    return found


def balances(client: redis.Redis, pool: str) -> dict[str, Balance]:
    """The balance of each kind of task in a pool; the kind is empty for tasks that have none."""
    return read_balances({str(name): str(value) for name, value in client.hgetall(balance_key(pool)).items()})


def read_balances(found: Mapping[str, str]) -> dict[str, Balance]:
    """The same from what lies in Redis."""
    kinds = sorted({name.split(_BETWEEN)[0] for name in found})
    return {kind: Balance(_side(found, kind, "own"), _side(found, kind, "foreign")) for kind in kinds}


def _side(found: Mapping[str, str], kind: str, side: str) -> Side:
    name = _BETWEEN.join((kind, side))
    weight = float(found.get(f"{name}{_BETWEEN}credits", 0))
    return Side(weight, float(found.get(f"{name}{_BETWEEN}sum", 0)) / weight) if weight else Side()


def balance_key(pool: str) -> str:
    """Hash: kind, side and what → a sum."""
    return f"memshare:balance:{pool}"
