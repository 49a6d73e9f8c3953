"""Lift: by how many points a memory that is shown raises the score of a task, measured by withholding some at random.

Compared are graded tasks of which one memory might have been withheld: those that were shown all of their memories, and
those that were not shown one of them. Chance alone decides which is which, so the difference of the mean scores is what
the memory did. With s₁² and s₂² the variances of the two groups and n₁ and n₂ their tasks, its standard error is that
of Welch:

    lift = mean of those shown all - mean of those without one,    error = √(s₁²/n₁ + s₂²/n₂).

Forgetting a submitter's tasks does not undo what they counted here: chance put them on either side.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import sqrt
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import redis

from memshare_broker.wire.messages import Message

LEAST_OF_POOL = 10  # tasks with a memory withheld, from which on the lift of a pool is told
LEAST_OF_MEMORY = 5  # the same for one memory
_POOL = "pool"  # the field of all memories together
_SHOWN, _WITHHELD = 0, 3  # where the three sums of a side begin


class Lift(Message):
    """By how many points of the score, with its standard error; both are None where too little is known.

    `shown` counts the tasks that were shown all of their memories, `withheld` those without one of them; of a single
    memory, those shown it, and those from which it was the one withheld. `needed` is how many of those it takes.
    """

    points: float | None
    error: float | None
    shown: int
    withheld: int
    needed: int


class SumsOfTasks:
    """Hashes with sums of graded tasks, in which each task counts once."""

    def __init__(self, client: redis.Redis, keep_days: float = 7.0) -> None:
        """For `keep_days` it is known that a task was counted: no shorter than it may be tried again."""
        self._client = client
        self._keep = int(keep_days * 86_400)
        self._script = client.register_script(Path(__file__).with_name("lift.lua").read_text())

    def _add(self, key: str, marker: str, score: float, fields: Iterable[str], *, second: bool = False) -> bool:
        """Count a task's score in fields of a hash, on their first or `second` side; False when it was before."""
        group = _WITHHELD if second else _SHOWN
        return bool(self._script(keys=[key, marker], args=[self._keep, repr(float(score)), group, *fields]))


class LiftSums(SumsOfTasks):
    """For every pool a hash: memory, or `pool` → sums of the tasks that were shown it, then of those without it.

    The sums of a side are the number of tasks, of their scores, and of the squares of these.
    """

    def count(self, pool: str, task_id: str, score: float, memories: Sequence[UUID], *, withheld: bool = False) -> bool:
        """Count a task that was shown all of its memories, or from which one was withheld; False when it was before.

        `memories` are those, or that one, unless they were forgotten since.
        """
        marker = f"memshare:lift_counted:{pool}:{task_id}"
        return self._add(lift_key(pool), marker, score, (_POOL, *map(str, memories)), second=withheld)


def pool_lift(client: redis.Redis, pool: str) -> Lift:
    """The lift of a pool's memories: of one of those that a task is shown, whichever it is."""
    return _read(client.hget(lift_key(pool), _POOL), LEAST_OF_POOL)


def memory_lift(client: redis.Redis, pool: str, memory: UUID) -> Lift:
    """The lift of one memory."""
    return _read(client.hget(lift_key(pool), str(memory)), LEAST_OF_MEMORY)


def lifts(client: redis.Redis, pools: Iterable[str]) -> dict[str, Lift]:
    """The lift of each of these pools in which a task was counted, by name."""
    found = {pool: pool_lift(client, pool) for pool in sorted(pools)}
    return {pool: lift for pool, lift in found.items() if lift.shown or lift.withheld}


def drop_lift(client: redis.Redis, pool: str, memories: Iterable[UUID]) -> None:
    """Forget the lift of memories; what they did for the lift of the pool stays, and names none of them."""
    names = [str(one) for one in memories]
    if names:
        client.hdel(lift_key(pool), *names)


class Side(NamedTuple):
    """The sums of tasks: their number, their scores, and the squares of these."""

    tasks: float
    total: float
    squares: float

    @property
    def mean(self) -> float:
        return self.total / self.tasks

    @property
    def squared_error(self) -> float:
        """The variance of the mean, for two tasks or more."""
        spread = max(self.squares - self.total**2 / self.tasks, 0.0)  # rounding may take it below 0
        return spread / (self.tasks - 1) / self.tasks


def _read(text: str | bytes | None, needed: int) -> Lift:
    shown, withheld = read_sides(text)
    points = error = None
    if shown.tasks >= 2 and withheld.tasks >= needed:
        points = shown.mean - withheld.mean
        error = sqrt(shown.squared_error + withheld.squared_error)
    return Lift(points=points, error=error, shown=int(shown.tasks), withheld=int(withheld.tasks), needed=needed)


def read_sides(text: str | bytes | None) -> tuple[Side, Side]:
    """The two sides of a field; of none of its tasks where it is absent."""
    numbers = [float(number) for number in str(text or "0 0 0 0 0 0").split()]
    return Side(*numbers[:_WITHHELD]), Side(*numbers[_WITHHELD:])


def lift_key(pool: str) -> str:
    """Hash: memory or `pool` → its sums."""
    return f"memshare:lift:{pool}"
