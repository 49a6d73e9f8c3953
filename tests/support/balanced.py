"""Own and foreign memories in balance, as if tasks had been answered."""

from __future__ import annotations

from collections.abc import Iterable

import redis

from memshare.memory_service.recall.balance import Earned, balance_key, sums


def note(client: redis.Redis, pool: str, kind: str | None, model: str | None, earned: Iterable[Earned]) -> None:
    """Count what memories earned in answers that this model gave."""
    for field, amount in sums(kind, model, earned).items():
        client.hincrbyfloat(balance_key(pool), field, amount)
