"""Conflicts: memories of one pool that answer the same question and contradict each other, linked in Redis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

import redis

# KEYS: links of the pool, memory → its rivals. ARGV: two memories.
_LINK = """
for place = 1, 2 do
  local one, other = ARGV[place], ARGV[3 - place]
  local rivals = redis.call('HGET', KEYS[1], one)
  if not rivals then redis.call('HSET', KEYS[1], one, other)
  elseif not string.find(rivals, other, 1, true) then redis.call('HSET', KEYS[1], one, rivals .. ' ' .. other) end
end
"""
# KEYS: links of the pool. ARGV: memories that are no more.
_DROP = """
for _, gone in ipairs(ARGV) do
  for other in string.gmatch(redis.call('HGET', KEYS[1], gone) or '', '%S+') do
    local left = {}
    for rival in string.gmatch(redis.call('HGET', KEYS[1], other) or '', '%S+') do
      if rival ~= gone then left[#left + 1] = rival end
    end
    if #left > 0 then redis.call('HSET', KEYS[1], other, table.concat(left, ' '))
    else redis.call('HDEL', KEYS[1], other) end
  end
  redis.call('HDEL', KEYS[1], gone)
end
"""


class Conflicts:
    """The links of all pools, in one Redis."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._link = client.register_script(_LINK)
        self._drop = client.register_script(_DROP)

    def link(self, pool: str, one: UUID, other: UUID) -> None:
        """Note that two memories contradict each other; twice is once."""
        if one != other:
            self._link(keys=[links_key(pool)], args=[str(one), str(other)])

    def rivals(self, pool: str, memories: Sequence[UUID]) -> dict[UUID, list[UUID]]:
        """Those of some memories that have rivals, with them."""
        return read_rivals(memories, self.ask(self._client, pool, memories)) if memories else {}

    def ask(self, client: redis.Redis, pool: str, memories: Sequence[UUID]) -> Any:
        """Ask for the rivals of some memories, in a pipeline too; `read_rivals` reads the reply."""
        return client.hmget(links_key(pool), [str(one) for one in memories])

    def pairs(self, pool: str) -> list[tuple[UUID, UUID]]:
        """Every two memories of a pool that contradict each other."""
        links = self._client.hgetall(links_key(pool))
        found = {tuple(sorted((str(one), rival))) for one, text in links.items() for rival in str(text).split()}
        return [(UUID(one), UUID(other)) for one, other in sorted(found)]

    def drop(self, pool: str, memories: Iterable[UUID]) -> None:
        """Take out memories that are no more."""
        names = [str(one) for one in memories]
        if names:
            self._drop(keys=[links_key(pool)], args=names)


def read_rivals(memories: Sequence[UUID], texts: Iterable[str | None]) -> dict[UUID, list[UUID]]:
    """Those of some memories that have rivals, as these lie in Redis."""
    pairs = zip(memories, texts, strict=True)
    return {one: [UUID(rival) for rival in text.split()] for one, text in pairs if text}


def links_key(pool: str) -> str:
    return f"memshare:conflicts:{pool}"
