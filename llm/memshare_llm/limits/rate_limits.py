"""The rate limit of a chat model, kept in Redis and shared by all workers."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

import redis
from limits import RateLimitItemPerSecond
from limits.storage import RedisStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from memshare_broker.errors import NotYet
from memshare_broker.settings_file import RateLimit
from memshare_broker.wire.messages import Usage
from memshare_llm.chat import Chat, ChatAround, ChatCall, NoLogprobs, R, RefusedReply, UselessReply

PATIENCE = 10.0  # seconds for which a call waits in its thread, where it keeps others from running
JITTER = 5.0  # seconds; what waits does not come back all at once
FIRST_GUESS = 500  # tokens of a completion, before any is known
REMEMBERED = 50  # completions, about, that the mean goes back


class RateLimited(ChatAround):
    """Asks the shared limit before each call. Raises `NotYet` where it is not granted within `patience` seconds.

    The tokens of a call are estimated beforehand; those that it takes beyond that are asked for afterwards, and
    with the next call where there is no room for them.
    """

    def __init__(self, chat: Chat, limit: SharedLimit, *, patience: float = PATIENCE) -> None:
        super().__init__(chat)
        self._limit = limit
        self._patience = patience
        self._lock = threading.Lock()
        self._completion, self._completions = float(FIRST_GUESS), 0
        self._owed = 0  # tokens that were used and not granted yet

    def _call(self, call: Callable[[], R], asked: ChatCall) -> R:
        estimate = asked.estimate(self._completion)
        self._wait(estimate)
        try:
            reply = call()
        except (UselessReply, RefusedReply, NoLogprobs) as error:
            self._settle(error.usage, estimate)
            raise
        self._settle(reply.usage, estimate)
        if not asked.first_token:
            with self._lock:
                self._completions = min(self._completions + 1, REMEMBERED)
                self._completion += (reply.usage.completion_tokens - self._completion) / self._completions
        return reply

    def _wait(self, estimate: int) -> None:
        with self._lock:
            owed, self._owed = self._owed, 0
        deadline = time.monotonic() + self._patience
        while wait := self._limit.take(estimate + owed):
            if time.monotonic() + wait > deadline:
                with self._lock:
                    self._owed += owed
                message = f"The rate limit of {self.name} (MEMSHARE_RATE_LIMITS) is used up for now."
                raise NotYet(message, wait + random.uniform(0, JITTER), hold=f"rate {self.name}")
            time.sleep(wait * random.uniform(1, 1.2))

    def _settle(self, usage: Usage, estimate: int) -> None:
        beyond = usage.prompt_tokens + usage.completion_tokens - estimate
        if beyond > 0:
            owed = self._limit.charge(beyond)
            with self._lock:
                self._owed += owed


MINUTE = 60  # seconds
PREFIX = "memshare:rate"


class SharedLimit:
    """How much may be asked of one model in a window, by every process together.

    The window slides: what the last one took still counts, in proportion to how much of it is in sight.
    """

    def __init__(self, client: redis.Redis, model: str, limit: RateLimit, *, window: int = MINUTE) -> None:
        # The client's pool brings its address, password and retries along; the URL only names the kind of server.
        storage = RedisStorage("redis://", connection_pool=client.connection_pool, key_prefix=PREFIX)
        self.model = model
        self._storage = storage
        self._limiter = SlidingWindowCounterRateLimiter(storage)
        self._window = window
        self._requests = limit.requests and RateLimitItemPerSecond(limit.requests, window)
        self._tokens = limit.tokens and RateLimitItemPerSecond(limit.tokens, window)

    def take(self, tokens: int) -> float:
        """Take one request and so many tokens: 0 if they were granted, else the seconds until they may be.

        More tokens than a whole window has count as all of it.
        """
        costs = [(self._requests, "requests", 1), (self._tokens, "tokens", tokens)]
        asked = [(item, name, min(cost, item.amount)) for item, name, cost in costs if item]
        # First a look at all, so that what one of them refuses takes nothing from the others.
        wait = max((self._free_in(item, name, cost) for item, name, cost in asked), default=0.0)
        if wait:
            return wait
        for item, name, cost in asked:
            if not self._limiter.hit(item, self.model, name, cost=cost):  # another was quicker
                return max(self._free_in(item, name, cost), 0.1)
        return 0.0

    def charge(self, tokens: int) -> int:
        """Take tokens that were used beyond what was asked for; returns how many the window has no room for."""
        item = self._tokens
        if not item or tokens <= 0:
            return 0
        room = min(tokens, self._limiter.get_window_stats(item, self.model, "tokens").remaining)
        taken = room if room and self._limiter.hit(item, self.model, "tokens", cost=room) else 0
        return tokens - taken

    def _free_in(self, item: RateLimitItemPerSecond, name: str, cost: int) -> float:
        seen = self._storage.get_sliding_window(item.key_for(self.model, name), self._window)
        return free_in(item.amount, cost, self._window, seen)


def free_in(limit: int, cost: int, window: int, seen: tuple[int, float, int, float]) -> float:
    """Seconds until `cost` fits under `limit` if nobody else takes anything; 0 if it fits now.

    `seen` is what the previous window took, the seconds in which that ends to count, what the current one took,
    and the seconds in which that does, both of them counted from now: `window` to twice that for the current one.
    """
    previous, previous_ends, current, current_ends = seen
    room = limit - cost - current
    if room >= 0:
        # floor(previous · left / window) <= room, as the limiter counts.
        if previous * previous_ends / window < room + 1:
            return 0.0
        return max(previous_ends - (room + 1) * window / previous, 0.0) + 0.01
    left = (limit - cost + 1) * window / current
    return max(current_ends - min(left, window), 0.0) + 0.01
