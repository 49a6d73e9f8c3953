"""How many memories a task is shown: learnt for each pool, answering model and kind from what graded tasks scored.

The numbers 0, 1, 3 and 6 are the arms of a bandit by Thompson sampling (Thompson 1933): of each number a mean score is
drawn from what is known of it, and the highest is taken. With n tasks of mean m that were shown so many,

    drawn ~ Normal((n · m + n₀ · m₀) / (n + n₀), s² / (n + n₀)),

where s is the standard deviation of all scores. Before anything is known (n₀ = 10) a kind is expected to do with a
number as all kinds of the pool do, m₀, and these what they do with three, or a little less. In 12 % of the tasks chance
alone takes a number: they say what being shown memories does, and find out when that changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from math import sqrt
from random import Random
from typing import NamedTuple

import redis

from memshare_broker.wire.messages import Examples, Message
from memshare_memory.recall.lift import Side, SumsOfTasks, read_sides

NUMBERS = (0, 1, 3, 6)
USUAL = 3  # as in INMS (arXiv 2404.09982)
BEGIN_AFTER = 20  # graded tasks that were shown the usual number
AT_RANDOM = 0.12  # of the tasks
KNOWN_BEFORE = 10  # tasks that what is expected of a number weighs
HEAD_START = 10.0  # points of the score that the usual number is expected to be better
COST = 0.2  # points for each memory: among equals the fewest are shown
LEAST_SPREAD = 5.0  # points
LEAST_TASKS = 10  # at random without memories, from which on it is told what these do
_ALL = ""  # the kind of all kinds together


class Tried(Message):
    """What was learnt of the number of memories for a model and a kind; no kind: all of them.

    `tasks` and `scores` are by number, the score 0 to 100; `best` is what is shown where chance does not decide.
    `lift` is by how many points being shown any raises the score, with its standard error, of the tasks in which chance
    decided; None where these are too few.
    """

    model: str
    kind: str | None
    tasks: dict[int, int]
    scores: dict[int, float]
    best: int
    lift: float | None = None
    error: float | None = None


class Sums(NamedTuple):
    """Of tasks that were shown a number of memories: those in which the bandit chose, and those in which chance did."""

    chosen: Side
    by_chance: Side

    @property
    def all(self) -> Side:
        return _together(self)


class HowMany(SumsOfTasks):
    """For every pool a hash: number, model and kind → sums of the graded tasks that were shown so many."""

    def choose(self, pool: str, model: str, kind: str | None, task_id: str, *, learn: bool = True) -> Examples:
        """The number for a task. The draw depends on the task's id; where nothing is to be learnt the best is taken."""
        kinds = dict.fromkeys((_ALL, kind or _ALL))
        names = [_field(number, model, one) for one in kinds for number in NUMBERS]
        found = self._client.hmget(how_many_key(pool), names)
        sums = [Sums(*read_sides(text)) for text in found]
        rows = {one: sums[at * len(NUMBERS) : (at + 1) * len(NUMBERS)] for at, one in enumerate(kinds)}
        if rows[_ALL][NUMBERS.index(USUAL)].all.tasks < BEGIN_AFTER:
            return Examples(model=model, number=USUAL)
        expected = _expected(rows[_ALL], rows[kind] if kind else None)
        if not learn:
            return Examples(model=model, number=_best(expected))
        chance = Random(blake2b(f"how many {task_id}".encode(), digest_size=8).digest())
        if chance.random() < AT_RANDOM:
            return Examples(model=model, number=chance.choice(NUMBERS), by_chance=True)
        drawn = [(chance.gauss(mean, error), 0.0) for mean, error in expected]
        return Examples(model=model, number=_best(drawn))

    def count(self, pool: str, kind: str | None, task_id: str, score: float, examples: Examples) -> None:
        """Count a graded task, once."""
        marker = f"memshare:how_many_counted:{pool}:{task_id}"
        fields = [_field(examples.number, examples.model, one) for one in dict.fromkeys((_ALL, kind or _ALL))]
        self._add(how_many_key(pool), marker, score, fields, second=examples.by_chance)


def tried(client: redis.Redis, pool: str) -> list[Tried]:
    """What was learnt of a pool, by model and kind; where nothing but the usual number was shown there is nothing."""
    sums: dict[tuple[str, str], dict[int, Sums]] = {}
    for field, text in client.hgetall(how_many_key(pool)).items():
        number, model, kind = str(field).split(_BETWEEN)
        sums.setdefault((model, kind), {})[int(number)] = Sums(*read_sides(text))
    rows = {name: [of.get(number, _NONE) for number in NUMBERS] for name, of in sums.items()}
    found = []
    for (model, kind), row in sorted(rows.items()):
        if all(one.all.tasks == 0 for number, one in zip(NUMBERS, row, strict=True) if number != USUAL):
            continue
        everything = rows[model, _ALL]
        counts = {number: one.all for number, one in zip(NUMBERS, row, strict=True) if one.all.tasks}
        lift, error = _lift(row)
        found.append(
            Tried(
                model=model,
                kind=kind or None,
                tasks={number: int(one.tasks) for number, one in counts.items()},
                scores={number: one.mean for number, one in counts.items()},
                best=_best(_expected(everything, row if kind else None)),
                lift=lift,
                error=error,
            )
        )
    return found


def tried_in(client: redis.Redis, pools: Iterable[str]) -> dict[str, list[Tried]]:
    """The same of each of these pools in which something was learnt, by name."""
    return {pool: found for pool in sorted(pools) if (found := tried(client, pool))}


_BETWEEN = "\x1f"  # stands in no name
_NONE = Sums(Side(0, 0, 0), Side(0, 0, 0))


def _expected(everything: Sequence[Sums], of_kind: Sequence[Sums] | None) -> list[tuple[float, float]]:
    """For each number the score that is expected with it, less what it costs, and the error of that."""
    total = _together(one.all for one in everything)
    prior = [total.mean - (0 if number == USUAL else HEAD_START) for number in NUMBERS]
    spread = max(sqrt(total.squared_error * total.tasks), LEAST_SPREAD) if total.tasks >= 2 else HEAD_START
    means = _towards(everything, prior)
    counted = everything
    if of_kind is not None:
        usual = _together(one.all for one in of_kind)
        level = (usual.total + KNOWN_BEFORE * total.mean) / (usual.tasks + KNOWN_BEFORE)
        means = _towards(of_kind, [mean - total.mean + level for mean in means])
        counted = of_kind
    return [
        (mean - COST * number, spread / sqrt(one.all.tasks + KNOWN_BEFORE))
        for number, mean, one in zip(NUMBERS, means, counted, strict=True)
    ]


def _towards(sums: Sequence[Sums], prior: Sequence[float]) -> list[float]:
    """The mean of each number, drawn towards what was expected of it."""
    return [
        (one.all.total + KNOWN_BEFORE * before) / (one.all.tasks + KNOWN_BEFORE)
        for one, before in zip(sums, prior, strict=True)
    ]


def _best(expected: Sequence[tuple[float, float]]) -> int:
    return max(zip(expected, NUMBERS, strict=True), key=lambda one: one[0][0])[1]


def _together(sides: Iterable[Side]) -> Side:
    return Side(*map(sum, zip(*sides, strict=True)))


def _lift(row: Sequence[Sums]) -> tuple[float | None, float | None]:
    without = row[0].by_chance
    some = _together(one.by_chance for one in row[1:])
    if without.tasks < LEAST_TASKS or some.tasks < LEAST_TASKS:
        return None, None
    return some.mean - without.mean, sqrt(some.squared_error + without.squared_error)


def _field(number: int, model: str, kind: str) -> str:
    return _BETWEEN.join((str(number), model, kind))


def how_many_key(pool: str) -> str:
    """Hash: number, model and kind → sums, as `lift_key` has them; the second side is that of chance."""
    return f"memshare:how_many:{pool}"
