"""A chat model whose calls wait for its rate limit."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

from memshare_broker.errors import NotYet
from memshare_broker.wire.messages import Usage
from memshare_llm.chat import Chat, ChatAround, ChatCall, NoLogprobs, R, RefusedReply, UselessReply
from memshare_llm.limits.rate_limits import SharedLimit

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
            self._learn(reply.usage)
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

    def _learn(self, usage: Usage) -> None:
        with self._lock:
            self._completions = min(self._completions + 1, REMEMBERED)
            self._completion += (usage.completion_tokens - self._completion) / self._completions
