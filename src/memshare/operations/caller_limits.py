"""Limits of what callers may take of what all share: requests, open tasks, offers in a day."""

from __future__ import annotations

import time
from collections.abc import Callable

import redis
from limits import RateLimitItemPerDay, RateLimitItemPerMinute
from limits.storage import RedisStorage
from limits.strategies import FixedWindowRateLimiter, SlidingWindowCounterRateLimiter

from memshare.client.errors import TooManyRequests
from memshare.operations.caller import Caller
from memshare_broker.app import PRIORITY_STEPS
from memshare_broker.connection import is_full
from memshare_broker.delivery.ledger import Ledger
from memshare_llm.limits.rate_limits import MINUTE, PREFIX, free_in

OPEN = "memshare:tasks_of:"
"""Sorted set, by name of a token: messages of its tasks, by when they were submitted. Some of them have ended."""
STANDS_BACK = (20, 100)  # tasks that wait, from which on another one is a step of priorities lower, and two
COME_BACK = 5.0  # seconds
DAY = 86_400  # seconds
EACH = 5_000  # characters of an offer, in the mean: of so many, times the limit, all of a day may be
DAYS = 10  # of offers, as many as which the memories of a token in a pool may be


class Shares:
    """Who has the right `admin` takes what there is."""

    def __init__(self, client: redis.Redis, open_limit: int, offer_limit: int) -> None:
        self._client = client
        self._open_limit = open_limit
        self._limiter = FixedWindowRateLimiter(
            RedisStorage("redis://", connection_pool=client.connection_pool, key_prefix=PREFIX)
        )
        self._offer_limit = offer_limit

    def take_open(self, caller: Caller, message_id: str, ledger: Ledger) -> int:
        """Count a task of a caller; by how many priorities it stands back, as so many of theirs wait for their answers.

        So who hands in many tasks at once does not make the others wait for all of them. Raises `TooManyRequests` where
        as many wait as may.
        """
        if caller.may("admin"):
            return 0
        key = f"{OPEN}{caller.name}"
        waiting = self._client.zcard(key)
        if waiting >= min(STANDS_BACK[0], self._open_limit or STANDS_BACK[0]):  # some of them may have ended
            known = [str(one) for one in self._client.zrange(key, 0, -1)]
            open_now = {entry.id for entry in ledger.open_of(known)}
            if ended := [one for one in known if one not in open_now]:
                self._client.zrem(key, *ended)
            waiting = len(open_now - {message_id})
            if 0 < self._open_limit <= waiting:
                raise TooManyRequests(
                    f"{waiting:,} tasks of the token {caller.name!r} wait for their answers, which is the most "
                    f"that may. Submit more when some are through; MEMSHARE_OPEN_LIMIT of `memshare serve` raises it.",
                    COME_BACK,
                )
        self._client.zadd(key, {message_id: time.time()})
        self._client.expire(key, 7 * DAY)
        return PRIORITY_STEPS[1] * sum(waiting >= many for many in STANDS_BACK)

    def take_offer(self, caller: Caller, characters: int, stored: Callable[[], int]) -> None:
        """Count an offer of a caller. `stored` are the memories that it has in the pool.

        Raises `TooManyRequests` where it has offered as much today as it may, or has as many memories.
        """
        if caller.may("admin") or not self._offer_limit:
            return
        for what, cost, most in (
            ("answers", 1, self._offer_limit),
            ("characters", characters, self._offer_limit * EACH),
        ):
            limit = RateLimitItemPerDay(most)
            if not self._limiter.hit(limit, "offers", what, caller.name, cost=cost):
                reset = self._limiter.get_window_stats(limit, "offers", what, caller.name).reset_time
                raise self._refused(caller, f"has offered {most:,} {what} today", max(reset - time.time(), 1.0))
        if (has := stored()) >= self._offer_limit * DAYS:
            raise self._refused(caller, f"has {has:,} memories in this pool", DAY)

    def _refused(self, caller: Caller, why: str, wait: float) -> TooManyRequests:
        return TooManyRequests(
            f"The token {caller.name!r} {why}, which is the most that are taken; MEMSHARE_OFFER_LIMIT of "
            "`memshare serve` raises it.",
            wait,
        )


class RequestLimit:
    """A limit for each caller alone; all of it may be used at once. 0 is no limit.

    The window slides: what the last minute took still counts, in proportion to how much of it is in sight.
    """

    def __init__(self, client: redis.Redis, per_minute: int, hint: str = "") -> None:
        # The client's pool brings its address, password and retries along; the URL only names the kind of server.
        self._storage = RedisStorage("redis://", connection_pool=client.connection_pool, key_prefix=PREFIX)
        self._limiter = SlidingWindowCounterRateLimiter(self._storage)
        self._hint = hint
        self._item = RateLimitItemPerMinute(per_minute) if per_minute else None

    def take(self, who: str) -> None:
        """Count one request of a caller; raises `TooManyRequests` with the seconds until the next one may come."""
        item = self._item
        if item is None:
            return
        try:
            has_room = self._limiter.hit(item, "door", who)
        except redis.exceptions.ResponseError as error:  # then nothing is counted, for what is there can be read
            if not is_full(error):
                raise
            has_room = self._limiter.test(item, "door", who)
        if has_room:
            return
        wait = free_in(item.amount, 1, MINUTE, self._storage.get_sliding_window(item.key_for("door", who), MINUTE))
        raise TooManyRequests(
            f"There were {item.amount:,} requests of {who} within a minute, which is the most that are taken. Ask "
            f"again in {max(wait, 1):.0f} s{self._hint}.",
            wait,
        )
