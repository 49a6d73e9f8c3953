"""How near a memory has to be to count as an answer: as the setting says, else as grades in its pool suggest.

Accepted answers of a pool's own agents tell which memories helped: each counts the similarity of the one that it
followed. So near as 95 in 100 of these is near enough, once there are 40, in steps of .05 and from .1 to .5. Until then
it is .3: the bundled encoder seldom finds a question about something else at more than that.
"""

from __future__ import annotations

from math import floor
from typing import NamedTuple

import redis

from memshare_memory.belief.lift import SumsOfTasks, read_sides
from memshare_memory.encoders.encoder import ENCODER

AT_FIRST = 0.3
LEAST_TASKS = 40
LEFT_OUT = 0.05  # of the memories that helped
LEAST, MOST, STEP = 0.1, 0.5, 0.05
_ENCODER = "encoder"  # the field that names whose similarities these are


class HelpedFrom(SumsOfTasks):
    """For every pool a hash: step of similarity → sums of the accepted answers that followed a memory so near."""

    def count(self, pool: str, encoder: str, task_id: str, similarity: float) -> None:
        """Count an accepted answer, once; those by another encoder's similarities do not count any more."""
        key = _key(pool)
        if self._client.hget(key, _ENCODER) != encoder:
            self._client.delete(key)
            self._client.hset(key, _ENCODER, encoder)
        self._add(key, f"memshare:near_counted:{pool}:{task_id}", similarity, [str(floor(similarity / STEP))])


class Nearness(NamedTuple):
    """The least similarity of an answer, and a clause that says where it comes from."""

    least: float
    why: str


def near_enough(client: redis.Redis, pool: str | None, setting: float | None) -> float:
    """The least similarity of an answer in a pool, or in any where none is named; the setting's, where it says one."""
    return nearness(client, pool, setting).least


def nearness(client: redis.Redis, pool: str | None, setting: float | None) -> Nearness:
    """The same, with where it comes from."""
    if setting is not None:
        return Nearness(setting, "the limit that MEMSHARE_NEAR_ENOUGH sets")
    found = client.hgetall(_key(pool)) if pool else {}
    if (searches := client.get(ENCODER)) and found.get(_ENCODER) != searches:  # one that was trained since
        found = {}
    steps = sorted((int(name), read_sides(text)[0].tasks) for name, text in found.items() if name != _ENCODER)
    counted = sum(tasks for _, tasks in steps)
    if counted < LEAST_TASKS:
        since = f"{counted:.0f} since the encoder was last trained or changed"
        some = f"until {LEAST_TASKS} accepted answers that followed a memory suggest one ({since})"
        return Nearness(AT_FIRST, f"the limit {some if pool else 'where no pool is named'}")
    left_out = counted * LEFT_OUT
    least = MOST
    for step, tasks in steps:
        left_out -= tasks
        if left_out < 0:
            least = min(max(step * STEP, LEAST), MOST)
            break
    return Nearness(least, "the limit that accepted answers suggest")


def too_far(nearest: float | None, least: float) -> str:
    """A sentence where the nearest of what was found is not near enough; none where it is, or nothing was found."""
    if nearest is None or nearest >= least:
        return ""
    return f"Nothing near enough (nearest: {nearest:.2f}; it takes {least:.2f})."


def _key(pool: str) -> str:
    return f"memshare:near:{pool}"
