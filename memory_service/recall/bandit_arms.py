"""The arms of a pool's memories in Redis, where every worker can add to them at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import redis

from memshare.memory_service.recall.credibility import Arm, Array, D

# An arm is one line of text: how many credits, the upper triangle of Σ xxᵀ row by row, and b. Numbers are written so
# that reading them gives the same ones.
# KEYS: arms of the pool, marker of the task. ARGV: seconds to keep the marker, number of sums; then for each credit the
# memory and what is added to each number.
_CREDIT = """
if not redis.call('SET', KEYS[2], '1', 'NX', 'EX', ARGV[1]) then return 0 end
local width = tonumber(ARGV[2])
for first = 3, #ARGV, width + 1 do
  local sums = {}
  for number in string.gmatch(redis.call('HGET', KEYS[1], ARGV[first]) or '', '%S+') do sums[#sums + 1] = number end
  for place = 1, width do
    sums[place] = string.format('%.17g', tonumber(sums[place] or '0') + tonumber(ARGV[first + place]))
  end
  redis.call('HSET', KEYS[1], ARGV[first], table.concat(sums, ' '))
end
return 1
"""
KEEP_MARKER_DAYS = 7.0
_UPPER = np.triu_indices(D)
_PLACES = np.zeros((D, D), dtype=np.intp)  # of the numbers of a symmetric matrix in its upper triangle
_PLACES[_UPPER] = np.arange(len(_UPPER[0]))
_PLACE_OF = np.maximum(_PLACES, _PLACES.T).ravel()


class Credit(NamedTuple):
    """What a memory earned: its features x, of shape (d,), and the reward, 0 to 1."""

    memory: UUID
    x: Array
    reward: float


class Arms:
    """The arms of all pools, in one Redis."""

    def __init__(self, client: redis.Redis, keep_days: float = KEEP_MARKER_DAYS) -> None:
        """For `keep_days` it is known that a task has credited: no shorter than it may be tried again."""
        self._client = client
        self._keep = int(keep_days * 86_400)
        self._credit = client.register_script(_CREDIT)

    def add(self, pool: str, task_id: str, earned: Sequence[Credit]) -> bool:
        """Credit what a task was shown of a pool, in one step and once a task; False when that was done before."""
        if not earned:
            return False
        words: list[str] = []
        for one in earned:
            added = (1.0, *np.outer(one.x, one.x)[_UPPER], *(one.reward * one.x))
            words += [str(one.memory), *(repr(float(number)) for number in added)]
        width = 1 + len(_UPPER[0]) + D
        marker = f"memshare:credited:{pool}:{task_id}"
        return bool(self._credit(keys=[arms_key(pool), marker], args=[self._keep, width, *words]))

    def of(self, pool: str, memories: Sequence[UUID]) -> list[Arm]:
        """The arms of some memories, in their order."""
        return read_arms(self.ask(self._client, pool, memories)) if memories else []

    def ask(self, client: redis.Redis, pool: str, memories: Sequence[UUID]) -> Any:
        """Ask for the arms of some memories, in a pipeline too; `read_arms` reads the reply."""
        return client.hmget(arms_key(pool), [str(one) for one in memories])

    def some(self, pool: str, most: int) -> list[Arm]:
        """The arms of up to so many of a pool's memories, chosen at random; all of them have been credited."""
        found = self._client.hrandfield(arms_key(pool), most, withvalues=True) or []
        return read_arms(str(text) for text in found[1::2])

    def drop(self, pool: str, memories: Iterable[UUID]) -> None:
        """Forget what memories were worth."""
        names = [str(one) for one in memories]
        if names:
            self._client.hdel(arms_key(pool), *names)


def arms_key(pool: str) -> str:
    return f"memshare:credibility:{pool}"


def read_arms(texts: Iterable[str | None]) -> list[Arm]:
    """Arms as they lie in Redis; a memory that was never credited has none there."""
    return [Arm.untried() if text is None else _read(text) for text in texts]


@lru_cache(maxsize=20_000)
def _read(text: str) -> Arm:
    numbers = np.array(text.split(), dtype=np.float64)
    a = numbers[1 : 1 + len(_UPPER[0])][_PLACE_OF].reshape(D, D)
    return Arm(a + np.eye(D), numbers[-D:], int(numbers[0]))
