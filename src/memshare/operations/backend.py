"""Objects that every operation works with, built once for a process: clients, limits, shares and kept recalls."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING
from uuid import UUID

import redis
from limits import RateLimitItemPerDay, RateLimitItemPerMinute
from limits.storage import RedisStorage
from limits.strategies import FixedWindowRateLimiter, SlidingWindowCounterRateLimiter

from memshare.client.client import Client
from memshare.client.errors import Forbidden, NotFound, TooLarge, TooManyRequests
from memshare.operations.caller import Caller, Tokens
from memshare_broker.app import PRIORITY_STEPS
from memshare_broker.connection import connect, reaching
from memshare_broker.delivery.journey_records import pack, unpack
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.presence import AgentCard, require_same_secret
from memshare_broker.settings import Settings
from memshare_broker.wire.forms import refuse_too_long
from memshare_broker.wire.messages import USUAL_PRIORITY, Message, Shown
from memshare_broker.wire.signing import open_signer
from memshare_llm.limits.budget import Budget
from memshare_llm.limits.rate_limits import MINUTE, PREFIX, free_in
from memshare_llm.limits.usage import UsageLog
from memshare_memory.curate.traces import RECALLED

if TYPE_CHECKING:
    from memshare.client.rest.calls.concepts import ConceptsReply
    from memshare.client.rest.calls.duplicates import DuplicatesReply

LONGEST = 30 * 86_400  # seconds; as long as the memory service knows that an outcome was told


class KeptRecall(Message):
    """A recall: who asked, for what task, and the memories that were shown."""

    id: UUID
    submitter: str
    pool: str
    prompt: str
    shown: tuple[Shown, ...]


class Recalls:
    """The recalls of one Redis."""

    def __init__(self, client: redis.Redis, keep_days: float) -> None:
        self._client = client
        self._keep = int(min(keep_days * 86_400, LONGEST))
        """Seconds; no longer than it is known that an outcome was told."""

    def keep(self, recall: KeptRecall) -> None:
        self._client.set(f"{RECALLED}{recall.id}", pack(recall.model_dump_json()), ex=self._keep)

    def get(self, caller: Caller, recall_id: UUID) -> KeptRecall:
        """A recall of the caller's own; raises `NotFound`."""
        kept = self._client.execute_command("GET", f"{RECALLED}{recall_id}", NEVER_DECODE=True)  # type: ignore[no-untyped-call]
        recall = KeptRecall.model_validate(unpack(kept)) if kept else None
        if recall is None or recall.submitter != caller.name or not caller.sees(recall.pool):
            raise NotFound(f"No recall of yours has the id {str(recall_id)!r}. They are kept for some days only.")
        return recall


OPEN = "memshare:open:"
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


def require_priority(caller: Caller, priority: int) -> None:
    """Raise `Forbidden` for who puts a task before those of others without the right to it."""
    if priority < USUAL_PRIORITY and not caller.may("admin"):
        raise Forbidden(
            f"The token {caller.name!r} may not give a task the priority {priority}: what comes before the usual "
            f"{USUAL_PRIORITY} takes the right 'admin'."
        )


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
        """Pool → the time when its concepts were computed, and the result."""
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
