"""Lift: by how many points a memory that is shown raises the score of a task, measured by withholding some at random.

Compared are graded tasks of which one memory might have been withheld: those that were shown all of their memories, and
those that were not shown one of them; and where chance took the number of memories, tasks with some and with none.
Chance alone decides which is which, so the difference of the mean scores is what memories did. With s₁² and s₂² the
variances of the two groups, s² that of both together, each about its own mean, and n₁ and n₂ their tasks (a few that
happen to be alike would else make it certain that all others are):

    lift = mean of those shown all - mean of those without one,    error = √(max(s₁², s²)/n₁ + max(s₂², s²)/n₂).

Forgetting a submitter's tasks does not undo what they counted here: chance put them on either side.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from hashlib import blake2b
from math import sqrt
from random import Random
from typing import Literal, NamedTuple
from uuid import UUID

import redis
from pydantic import Field

from memshare_broker.scripts import Script
from memshare_broker.wire.messages import AgentPair, Examples, Message

POOLS = "memshare:lift_pools"  # set: the pools of which tasks were counted
COUNT_LIFT = Script(__file__, "lift")
COUNT_NUMBER = Script(__file__, "how_many")
NOTE_NO_GRADE = Script(__file__, "no_grade")
LEAST_OF_MEMORY = 10  # tasks with a memory withheld, and shown it, from which on its lift is told
_SHOWN, _WITHHELD = 0, 3  # where the three sums of a side begin
_BETWEEN = "\x1f"  # stands in no name


class Lift(Message):
    """By how many points of the score, with its standard error; both are None where too little is known.

    `shown` counts the tasks from which the memory might have been withheld, `withheld` those from which it was.
    `needed` is how many of each it takes.
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

    def _add(
        self, key: str, marker: str, score: float, fields: Iterable[str], *, second: bool = False, pool: str = ""
    ) -> bool:
        """Count a task's score in fields of a hash, on their first or `second` side; False when it was before.

        Its `pool` is among `POOLS` from then on.
        """
        counted = COUNT_LIFT(
            self._client, sums=key, marker=marker, pools=POOLS, seconds=self._keep, pool=pool, score=float(score),
            group=_WITHHELD if second else _SHOWN, fields=[*fields],
        )  # fmt: skip
        return bool(counted)


Way = Literal["one withheld", "only one withheld", "all withheld"]
"""The only one is that of a task for which no other was found: without it there is none."""


class TaskGroup(NamedTuple):
    """Tasks that are counted together; no kind and no model are empty texts."""

    way: Way
    agent: str
    kind: str
    model: str


def tries(
    agent: str, kind: str | None, model: str | None, shown: int, examples: Examples | None, withheld: bool | None
) -> Iterator[tuple[TaskGroup, bool]]:
    """The groups in which a task counts, with True where chance withheld memories.

    `withheld` is true where one was withheld beside those shown, and None where none could be.
    """
    group = TaskGroup("all withheld", agent, kind or "", model or "")
    if examples is not None and examples.by_chance:  # by what was meant, not by what was found: hard tasks find little
        yield group, examples.number == 0
    if withheld is not None:
        yield group._replace(way="only one withheld" if shown + withheld == 1 else "one withheld"), withheld


def tries_of(task: AgentPair) -> Iterator[tuple[TaskGroup, bool]]:
    """The same of a task that was answered."""
    is_without = task.withheld is not None if task.randomized else None
    return tries(task.agent, task.kind, task.model, len(task.shown), task.examples, is_without)


class LiftSums(SumsOfTasks):
    """For every pool a hash: memory, or group → sums of the tasks that were shown it, or some, then of those without.

    The sums of a side are the number of tasks, of their scores, and of the squares of these.
    """

    def count(
        self, pool: str, task_id: str, score: float, group: TaskGroup, memories: Sequence[UUID] = (), *, withheld: bool
    ) -> bool:
        """Count a task that was shown its memories, or from which one or all were withheld; False when it was before.

        `memories` are those of it that it counts for, unless they were forgotten since.
        """
        marker = f"memshare:lift_counted:{pool}:{group.way}:{task_id}"
        fields = (_BETWEEN.join(group), *map(str, memories))
        return self._add(lift_key(pool), marker, score, fields, second=withheld, pool=pool)

    def note(self, pool: str, task_id: str, group: TaskGroup, *, withheld: bool, is_graded: bool = False) -> None:
        """Note that a task of this pool on which chance decided ended without a grade, or that it is graded by now."""
        marker = f"memshare:lift_noted:{pool}:{'all' if group.way == 'all withheld' else 'one'}:{task_id}"
        field, of = _BETWEEN.join((*group, "1" if withheld else "")), no_grade_key(pool)
        NOTE_NO_GRADE(self._client, counts=of, marker=marker, seconds=self._keep, field=field, is_graded=is_graded)


def without_grade(client: redis.Redis, pool: str) -> list[CountedTasks]:
    """The tasks of a pool on which chance decided and that ended without a grade: as `groups`, without scores."""
    counted = [(str(field).split(_BETWEEN), int(count)) for field, count in client.hgetall(no_grade_key(pool)).items()]
    return [
        (TaskGroup._make(of), Side(0 if withheld else count, 0, 0), Side(count if withheld else 0, 0, 0))
        for (*of, withheld), count in counted
    ]


def pools_counted(client: redis.Redis) -> set[str]:
    """The pools of which tasks were counted, also those that have no memory, such as where no answer was good."""
    return {str(pool) for pool in client.smembers(POOLS)}


def groups(client: redis.Redis, pool: str) -> list[CountedTasks]:
    """The groups of a pool's graded tasks."""
    found = sorted(client.hgetall(lift_key(pool)).items())
    return [
        (TaskGroup._make(str(name).split(_BETWEEN)), *read_sides(of)) for name, of in found if _BETWEEN in str(name)
    ]


def memory_lift(client: redis.Redis, pool: str, memory: UUID) -> Lift:
    """The lift of one memory."""
    return _read(client.hget(lift_key(pool), str(memory)), LEAST_OF_MEMORY)


def drop_lift(client: redis.Redis, pool: str, memories: Iterable[UUID]) -> None:
    """Forget the lift of memories; what they did for their groups stays, and names none of them."""
    names = [str(memory) for memory in memories]
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


NO_TASKS = Side(0, 0, 0)
CountedTasks = tuple[TaskGroup, Side, Side]
"""A group, with the sums of those with memories and of those from which some were withheld."""


def squared_errors(shown: Side, without: Side) -> tuple[float, float]:
    """The variances of both means, for two tasks or more on each side; neither has less spread than both together."""
    sums = sum(side.squared_error * side.tasks * (side.tasks - 1) for side in (shown, without))
    spread = sums / (shown.tasks + without.tasks - 2)
    return max(shown.squared_error, spread / shown.tasks), max(without.squared_error, spread / without.tasks)


def together(sides: Iterable[Side]) -> Side:
    """The sums of all of these; of no tasks where there are none."""
    return Side(*map(sum, zip(NO_TASKS, *sides, strict=True)))


def sums_of(groups: Sequence[tuple[Side, Side]]) -> tuple[Side, Side]:
    """The sums of both sides of all of these."""
    return together(shown for shown, _ in groups), together(without for _, without in groups)


def _read(text: str | bytes | None, needed: int) -> Lift:
    shown, withheld = read_sides(text)
    points = error = None
    if min(shown.tasks, withheld.tasks) >= needed:
        points = shown.mean - withheld.mean
        error = sqrt(sum(squared_errors(shown, withheld)))
    return Lift(points=points, error=error, shown=int(shown.tasks), withheld=int(withheld.tasks), needed=needed)


def read_sides(text: str | bytes | None) -> tuple[Side, Side]:
    """The two sides of a field; of none of its tasks where it is absent."""
    numbers = [float(number) for number in str(text or "0 0 0 0 0 0").split()]
    return Side(*numbers[:_WITHHELD]), Side(*numbers[_WITHHELD:])


def lift_key(pool: str) -> str:
    """Hash: memory or group → its sums."""
    return f"memshare:lift:{pool}"


def no_grade_key(pool: str) -> str:
    """Hash: group and side → how many tasks on which chance decided have no grade."""
    return f"memshare:lift_no_grade:{pool}"


NUMBERS = (0, 1, 3, 6)
USUAL = 3  # as in INMS (arXiv 2404.09982)
_AT_USUAL = NUMBERS.index(USUAL)
BEGIN_AFTER = 20  # graded tasks that were shown the usual number
AT_RANDOM = 0.08  # of the tasks
KNOWN_BEFORE = 40  # tasks that it weighs, how much better the usual number is expected to be
KIND_KNOWN_BEFORE = 10  # tasks that it weighs in a kind, how numbers do in all kinds together
HEAD_START = 10.0  # points of the score that the usual number is expected to be better
COST = 0.2  # points for each memory: among equals the fewest are shown
LEAST_SPREAD = 5.0  # points
WINDOW = 20  # tasks that tell the level of a time
TOLD_FROM, T_LEAST = 10, 2.262  # tasks on each side of an interval, and Student's .975 quantile for so few
_ALL = ""  # the kind of all kinds together


class Tried(Message):
    """Results of a model for a kind of tasks, or all; `best` is how many are shown where chance does not decide."""

    model: str
    kind: str | None
    tasks: dict[int, int] = Field(description="by the number of memories shown")
    best: int
    beside_usual: dict[int, tuple[float, float, float]] = Field(
        default={},
        description="by number: points above those shown three, each score beside others of its time, and their ends of"
        " 2.262 standard errors, from ten tasks on each side on; they lean to 0: believe `helps`",
    )
    is_fair: bool = Field(default=True, description="false where all withheld is no fair comparison: no finding")

    @property
    def verdict(self) -> str:
        """Sentence on memories where none are shown, or what has no grade forbids any; else empty."""
        if self.best or not self.is_fair:
            return "" if self.is_fair else "no fair comparison"
        _, low, _ = self.beside_usual.get(0, (0, 0, 0))
        return "memories do not help here, as far as was learnt" if low > 0 else "no difference known yet"

    @property
    def in_words(self) -> str:
        """The number that is shown, and of each how many tasks were, and what they did beside the usual one."""
        known = self.beside_usual.items() if self.is_fair else ()
        beside = {
            at: f": {points:+.1f} points ({low:+.1f} to {high:+.1f}) beside {USUAL}"
            for at, (points, low, high) in known
        }
        said = [f"{at} in {count:,}{beside.get(at, '')}" for at, count in sorted(self.tasks.items())]
        return f"{self.best}{self.verdict and ': '}{self.verdict}; tasks with {', '.join(said)}"


class HowMany(SumsOfTasks):
    """For every pool a hash: number, model and kind → sums of the graded tasks that were shown so many.

    Summed is how much higher a score is than the level of its time: the first tasks of a pool find little and are shown
    the usual number, and would speak against it. A level is of a model and kind, in the same hash without a number.
    """

    def choose(self, pool: str, model: str, kind: str | None, task_id: str, *, learn: bool = True) -> Examples:
        """The number for a task. The draw depends on the task's id; where nothing is to be learnt the best is taken."""
        kinds = dict.fromkeys((_ALL, kind or _ALL))
        names = [_field(number, model, of_kind) for of_kind in kinds for number in NUMBERS]
        found = self._client.hmget(how_many_key(pool), names)
        sums = [together(read_sides(text)) for text in found]
        rows = {of_kind: sums[at * len(NUMBERS) : (at + 1) * len(NUMBERS)] for at, of_kind in enumerate(kinds)}
        if rows[_ALL][_AT_USUAL].tasks < BEGIN_AFTER:
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
        fields, levels = (
            [_field(number, examples.model, of_kind) for of_kind in dict.fromkeys((_ALL, kind or _ALL))]
            for number in (examples.number, "")
        )
        COUNT_NUMBER(
            self._client, sums=how_many_key(pool), marker=marker, seconds=self._keep, score=float(score),
            group=_WITHHELD if examples.by_chance else _SHOWN, window=WINDOW, known=KIND_KNOWN_BEFORE, fields=fields,
            levels=levels,
        )  # fmt: skip


def tried(client: redis.Redis, pool: str) -> list[Tried]:
    """Results of a pool, by model and kind; without those for which only the usual number of memories was shown.

    Where all tasks are of one kind, that stands for all kinds.
    """
    rows, found = _rows(client, pool), []
    for (model, kind), row in sorted(rows.items()):
        counts, usual = {number: side for number, side in zip(NUMBERS, row, strict=True) if side.tasks}, row[_AT_USUAL]
        others = {number: side for number, side in counts.items() if number != USUAL}
        is_twice = not kind and row in [of for (whose, of_kind), of in rows.items() if whose == model and of_kind]
        if others and not is_twice:
            best = _best(_expected(rows[model, _ALL], row if kind else None))
            known = {at: side for at, side in others.items() if min(side.tasks, usual.tasks) >= TOLD_FROM}
            beside = {at: _beside(side, usual) for at, side in known.items()}
            tasks = {at: int(side.tasks) for at, side in counts.items()}
            found.append(Tried(model=model, kind=kind or None, tasks=tasks, best=best, beside_usual=beside))
    return found


def _rows(client: redis.Redis, pool: str) -> dict[tuple[str, str], list[Side]]:
    """By model and kind the sums of each number."""
    rows: defaultdict[tuple[str, str], list[Side]] = defaultdict(lambda: [NO_TASKS] * len(NUMBERS))
    for field, text in client.hgetall(how_many_key(pool)).items():
        number, model, kind = str(field).split(_BETWEEN)
        if number:
            rows[model, kind][NUMBERS.index(int(number))] = together(read_sides(text))
    return rows


def _beside(side: Side, other: Side) -> tuple[float, float, float]:
    """The difference of two sides and the ends of its interval."""
    points, reach = side.mean - other.mean, T_LEAST * sqrt(sum(squared_errors(side, other)))
    return points, points - reach, points + reach


def usual_in(client: redis.Redis, pools: Iterable[str], without: Container[str | None] = ()) -> dict[str, int]:
    """By pool the most graded tasks that a model, none of those `without`, was shown the usual number of."""
    found = {pool: [0.0] for pool in sorted(pools)}
    for pool, of in found.items():
        rows = _rows(client, pool).items()
        of.extend(row[_AT_USUAL].tasks for (model, kind), row in rows if not kind and model not in without)
    return {pool: int(max(of)) for pool, of in found.items()}


def tried_in(client: redis.Redis, pools: Iterable[str]) -> dict[str, list[Tried]]:
    """The same of each of these pools in which something was learnt, by name."""
    return {pool: found for pool in sorted(pools) if (found := tried(client, pool))}


def _expected(everything: Sequence[Side], of_kind: Sequence[Side] | None) -> list[tuple[float, float]]:
    """For each number the score that is expected with it, less what it costs, and the error of that."""
    total = together(everything)
    prior = [total.mean - (0 if number == USUAL else HEAD_START) for number in NUMBERS]
    spread = max(sqrt(total.squared_error * total.tasks), LEAST_SPREAD) if total.tasks >= 2 else HEAD_START
    means, counted, known = _towards(everything, prior, KNOWN_BEFORE), everything, KNOWN_BEFORE
    if of_kind is not None:
        counted, known = of_kind, KIND_KNOWN_BEFORE
        usual = together(of_kind)
        level = (usual.total + known * total.mean) / (usual.tasks + known)
        means = _towards(of_kind, [mean - total.mean + level for mean in means], known)
    return [
        (mean - COST * number, spread / sqrt(side.tasks + known))
        for number, mean, side in zip(NUMBERS, means, counted, strict=True)
    ]


def _towards(sides: Sequence[Side], prior: Sequence[float], known: float) -> list[float]:
    """The mean of each number, drawn towards what was expected of it, as if that were seen in `known` tasks."""
    return [(side.total + known * before) / (side.tasks + known) for side, before in zip(sides, prior, strict=True)]


def _best(expected: Sequence[tuple[float, float]]) -> int:
    return max(zip(expected, NUMBERS, strict=True), key=lambda pair: pair[0][0])[1]


def _field(number: int | str, model: str, kind: str) -> str:
    return _BETWEEN.join((str(number), model, kind))


def how_many_key(pool: str) -> str:
    """Hash: number, model and kind → sums, as `lift_key` has them; the second side is that of chance."""
    return f"memshare:how_many_shown:{pool}"
