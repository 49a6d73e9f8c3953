"""How many requests a minute each caller may make, counted in Redis by every process that serves."""

from __future__ import annotations

import redis
from limits import RateLimitItemPerMinute
from limits.storage import RedisStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from memshare.serve.errors import TooManyRequests
from memshare_llm.limits.rate_limits import MINUTE, PREFIX, free_in


class RequestLimit:
    """A limit for each caller alone; all of it may be used at once. 0 is no limit.

    The window slides: what the last minute took still counts, in proportion to how much of it is in sight.
    """

    def __init__(self, client: redis.Redis, per_minute: int) -> None:
        # The client's pool brings its address, password and retries along; the URL only names the kind of server.
        self._storage = RedisStorage("redis://", connection_pool=client.connection_pool, key_prefix=PREFIX)
        self._limiter = SlidingWindowCounterRateLimiter(self._storage)
        self._item = RateLimitItemPerMinute(per_minute) if per_minute else None

    def take(self, who: str) -> None:
        """Count one request of a caller; raises `TooManyRequests` with the seconds until the next one may come."""
        item = self._item
        if item is None or self._limiter.hit(item, "door", who):
            return
        wait = free_in(item.amount, 1, MINUTE, self._storage.get_sliding_window(item.key_for("door", who), MINUTE))
        raise TooManyRequests(
            f"There were {item.amount:,} requests of {who} within a minute, which is the most that are taken. Ask "
            f"again in {max(wait, 1):.0f} s; MEMSHARE_REQUEST_LIMIT of `memshare serve` raises it.",
            wait,
        )
