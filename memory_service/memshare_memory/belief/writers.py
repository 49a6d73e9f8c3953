"""Whose answers help whom: what an answering model scored when it followed an example that each model wrote.

Right pairs travel between models, and ways of answering may not: a small model cannot follow what a large one writes.
So a memory of writer w is ranked for reader r by

    worth(w, r) = .4 · n / (n + 20) · (mean over w - mean over all) / 100

in the unit of a cosine, of the n graded tasks in which r followed an answer of w, each by how far its score is from
what is usual for its kind. The .4 is what a point of probability is worth where the learner decides whether a memory
helps (`memshare_trainer.step.SCALE`). It is the balance of own and foreign memories of INMS (arXiv
2404.09982), learnt.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import sqrt
from typing import NamedTuple

import redis

from memshare_broker.wire.messages import Message
from memshare_memory.belief.lift import Side, SumsOfTasks, read_sides

UNIT = 0.4  # of a cosine, for 100 points of the score
HALF_KNOWN = 20  # tasks after which a difference counts half
PEOPLE = "people"  # who wrote what no model did
_BETWEEN = "\x1f"  # stands in no name


class Reading(NamedTuple):
    """Which model reads in which pool."""

    pool: str
    reader: str


class Writer(Message):
    """How a reader's tasks went that followed a writer's answers, in points beside the mean of all that it followed."""

    reader: str
    writer: str
    tasks: int
    points: float
    error: float | None = None
    worth: float


class Writers(SumsOfTasks):
    """For every pool a hash: reader and writer → sums, as `lift_key` has them."""

    def count(self, reading: Reading, task_id: str, writer: str | None, above: float) -> None:
        """Count a graded task once: `above` is by how many points its score is over what is usual for its kind."""
        marker = f"memshare:writers_counted:{reading.pool}:{task_id}"
        self._add(writers_key(reading.pool), marker, above, [_BETWEEN.join((reading.reader, writer or PEOPLE))])

    def worths(self, readings: Collection[Reading]) -> dict[Reading, dict[str, float]]:
        """Worth of each writer to each reader; a writer who is not in it is worth 0."""
        pools = sorted({reading.pool for reading in readings})
        with self._client.pipeline(transaction=False) as look:
            for pool in pools:
                look.hgetall(writers_key(pool))
            sums = dict(zip(pools, map(_sums, look.execute()), strict=True))
        return {
            reading: {
                row.writer: row.worth for row in _of_reader(reading.reader, sums[reading.pool].get(reading.reader, {}))
            }
            for reading in readings
        }


def writers(client: redis.Redis, pool: str) -> list[Writer]:
    """Results of readers with the writers of a pool, for readers who have followed more than one writer."""
    sums = _sums(client.hgetall(writers_key(pool)))
    return [row for reader, of in sorted(sums.items()) for row in _of_reader(reader, of)]


def _sums(found: Mapping[str | bytes, str | bytes]) -> dict[str, dict[str, Side]]:
    sums: dict[str, dict[str, Side]] = {}
    for field, text in found.items():
        reader, writer = str(field).split(_BETWEEN)
        sums.setdefault(reader, {})[writer] = read_sides(text)[0]
    return sums


def _of_reader(reader: str, of: Mapping[str, Side]) -> list[Writer]:
    """Rows of a reader who has followed more than one writer."""
    if len(of) < 2:
        return []
    level = sum(side.total for side in of.values()) / sum(side.tasks for side in of.values())
    return [
        Writer(
            reader=reader,
            writer=writer,
            tasks=int(side.tasks),
            points=side.mean - level,
            error=sqrt(side.squared_error) if side.tasks >= 2 else None,
            worth=UNIT * side.tasks / (side.tasks + HALF_KNOWN) * (side.mean - level) / 100,
        )
        for writer, side in sorted(of.items())
    ]


def writers_key(pool: str) -> str:
    """Hash: reader and writer → sums; the second side is not used."""
    return f"memshare:writers:{pool}"
