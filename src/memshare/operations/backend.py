"""What every door works with, built once for a process."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import redis
from limits import RateLimitItemPerMinute
from limits.storage import RedisStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from memshare.client.client import Client
from memshare.client.errors import NotFound, TooLarge, TooManyRequests
from memshare.operations.caller import Caller
from memshare.operations.recall_log import Recalls
from memshare.operations.shares import Shares
from memshare.operations.tokens import Tokens
from memshare_broker.connection import connect, reaching
from memshare_broker.presence import AgentCard, require_same_secret
from memshare_broker.settings import Settings
from memshare_broker.wire.forms import refuse_too_long
from memshare_broker.wire.signing import open_signer
from memshare_llm.limits.budget import Budget
from memshare_llm.limits.rate_limits import MINUTE, PREFIX, free_in
from memshare_llm.limits.usage import UsageLog

if TYPE_CHECKING:  # they bring numpy
    from memshare.client.rest.calls.concepts import ConceptsReply
    from memshare.client.rest.calls.duplicates import DuplicatesReply

log = logging.getLogger(__name__)

WRONG_TOKENS = 30  # of one address in a minute
RAISED = "; MEMSHARE_REQUEST_LIMIT of `memshare serve` raises it"
LOOK_AGAIN = 5.0  # seconds for which the agents that are there are known


class Backend:
    """A deployment as the doors see it. Safe to share between threads; it connects when it is first used.

    `agents` are those that it runs beside what workers announce; None: all that are known.
    """

    def __init__(self, settings: Settings, agents: Collection[str] | None = None) -> None:
        self.settings = settings
        self.agents = agents
        self.client = Client(settings)
        self.redis = connect(settings.redis, tries=1)
        self.tokens = Tokens(self.redis)
        self.recalls = Recalls(self.redis, settings.keep_days)
        self.requests = RequestLimit(self.redis, settings.request_limit, RAISED)
        self.shares = Shares(self.redis, settings.open_limit, settings.offer_limit)
        self.failures = RequestLimit(self.redis, WRONG_TOKENS)
        self.budget = Budget(self.redis, UsageLog(self.redis))
        self.concepts: dict[str, tuple[float, ConceptsReply]] = {}
        """What pools are about, and when that was computed."""
        self.duplicates: dict[str, tuple[float, DuplicatesReply]] = {}
        """Memories of pools that are nearly the same, and when these were looked for."""
        self._cards: tuple[float, dict[str, AgentCard]] = (-LOOK_AGAIN, {})

    def check(self) -> None:
        """Raise what would keep this process from handing anything in: no Redis, no secret, or another one."""
        signer = open_signer(self.settings)
        with self.reaching():
            require_same_secret(self.redis, signer)

    def reaching(self) -> AbstractContextManager[None]:
        """Turn a lost connection to Redis into `Unreachable`."""
        return reaching(self.settings.redis)

    def cards(self) -> dict[str, AgentCard]:
        """Every agent by name; asked anew every few seconds."""
        looked, cards = self._cards
        if time.monotonic() - looked > LOOK_AGAIN:
            cards = self.client.agents()
            self._cards = (time.monotonic(), cards)
        return cards

    def agent(self, caller: Caller, name: str) -> AgentCard:
        """An agent whose pool the caller sees; raises `NotFound`."""
        card = self.cards().get(name)
        if card is None or not caller.sees(card.pool):
            known = ", ".join(sorted(one.name for one in self.cards().values() if caller.sees(one.pool))) or "none"
            raise NotFound(f"No agent is called {name!r}. There are: {known}.")
        return card

    def running(self, caller: Caller, name: str) -> AgentCard:
        """An agent whose pool the caller sees and that a worker runs, or is started for; raises `NotFound`."""
        card = self.agent(caller, name)
        if self.agents is not None and name not in self.agents:
            there = {queue for worker in self.client.workers() for queue in worker.queues}
            if name not in there:
                runs = (one.name for one in self.cards().values() if one.name in there.union(self.agents))
                known = ", ".join(sorted(one for one in runs if caller.sees(self.pool_of(one)))) or "none"
                raise NotFound(f"The agent {name!r} does not run here. There are: {known}.")
        return card

    def pool_of(self, agent: str) -> str | None:
        """The pool of an agent, where it is known."""
        card = self.cards().get(agent)
        return card.pool if card else None

    def checked_text(self, text: str, what: str = "prompt") -> str:
        """The text, if it is no longer than is taken; raises `TooLarge`."""
        refuse_too_long(self.settings.prompt_limit, TooLarge, **{what: text})
        return text

    def check_caps(self, agent: str, submitter: str) -> None:
        """Raise `NotYet` where what the agent or the submitter may use today is used up."""
        with self.reaching():
            self.budget.check(agent, submitter)

    def close(self) -> None:
        self.client.close()
        self.redis.close()


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
        if item is None or self._limiter.hit(item, "door", who):
            return
        wait = free_in(item.amount, 1, MINUTE, self._storage.get_sliding_window(item.key_for("door", who), MINUTE))
        raise TooManyRequests(
            f"There were {item.amount:,} requests of {who} within a minute, which is the most that are taken. Ask "
            f"again in {max(wait, 1):.0f} s{self._hint}.",
            wait,
        )
