"""Counts of memories by pool and status that are kept up to date, for counting in the engine takes longer the more
memories there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from memshare_memory.stores.store import Where

Kind = tuple[str, str]
"""The pool and the status of a memory."""


class CountCache:
    """How many memories of each pool and status there are. Not safe for threads by itself."""

    def __init__(self, counted: Mapping[Kind, int]) -> None:
        self._counts = Counter(counted)

    def change(self, removed: Iterable[Kind], added: Iterable[Kind]) -> None:
        """Take note of memories that were removed or replaced, and of those that stand there now."""
        self._counts.subtract(removed)
        self._counts.update(added)
        self._counts = +self._counts

    def count(self, where: Where) -> dict[str, int] | None:
        """Memories by pool; None for a condition on anything beside pool and status."""
        if replace(where, pool=None, status=None) != Where():
            return None
        statuses = (
            None if where.status is None else {where.status} if isinstance(where.status, str) else {*where.status}
        )
        found: Counter[str] = Counter()
        for (pool, status), count in self._counts.items():
            if where.pool in (None, pool) and (statuses is None or status in statuses):
                found[pool] += count
        return dict(found)
