"""How many requests a model's server gets at once: found by itself, for all workers together, people's first.

The limit rises as long as calls take little longer than alone, and falls by time-outs and refusals: the ideas of TCP,
and of Netflix's concurrency-limits. A breaker holds back what the model never gets right, and a rate limit that one
call met holds back the others until its time.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from typing import Literal, NamedTuple
from uuid import uuid4

import redis
from redis.exceptions import RedisError

from memshare_broker.delivery.sweeper import ParkedMessages
from memshare_broker.errors import PAID, GiveUp, NotYet, TryAgain
from memshare_broker.presence import INCARNATIONS_THERE, WORKER_INCARNATION
from memshare_broker.scripts import Script
from memshare_broker.settings import SERVER_WAIT
from memshare_broker.time_limit import INTERRUPTED
from memshare_broker.wire.messages import Usage
from memshare_llm.chat import CHARACTERS_PER_TOKEN, Chat, ChatAround, ChatCall, R, RefusedReply, Reply, UselessReply
from memshare_llm.providers.endpoint import is_private
from memshare_llm.structured import fits

log = logging.getLogger(__name__)


Lane = Literal["answers", "grades", "labels", "comparisons", "concepts"]
LAST = 2
RANKS: dict[Lane, int] = {"answers": 0, "grades": 1, "labels": LAST, "comparisons": LAST, "concepts": LAST}
"""Who goes first; those of the last rank wait for a server on which little goes on, and give way at a small one."""
FEW = 8  # calls at once, which a small server does

LOOK_AGAIN = 0.25  # seconds, about, until a waiting call looks again where nobody of its process has ended
COUNTS_FOR = 2.0  # seconds for which a call that looked is known to wait
MISFITS = 10  # in a row, that open the breaker
SHORTLY = 1.0  # seconds that what nobody waits for waits in its thread: a fast server is free again by then
SOON, LATER = 2.0, 120.0  # seconds until it looks again, at least and at most
APART = 2.0  # seconds between two that look again, at a server that does one call at once; half of that at one of two
AGAIN = 300.0  # seconds until it lets one call try
GRACE = 30.0  # seconds after its time limit at which a call is given up that nobody ended
READ_AS_FAST = 8  # tokens of a prompt are read in the time in which one is written
STATE = "memshare:server:"
"""Hash, with the server's address at the end: the limit and what it was learnt from."""
SERVERS = "memshare:servers"
"""Set: these hashes' keys."""
MISFITS_KEY = "memshare:misfits"
"""Hash: how many replies in a row were of no use, by model, lane and kind."""
ENDED = "memshare:calls"
"""Hash: model → when its last call ended, and how the last `LAST_CALLS` did, the newest first."""
LAST_CALLS = 6
LATELY = 600.0  # seconds, after which the last calls of a model say nothing of it any more
_SEPARATOR = "\x1f"

ENTER_SERVER = Script(
    __file__, "enter", fitted=MISFITS_KEY, there=INCARNATIONS_THERE, counts_for=COUNTS_FOR, most=MISFITS, again=AGAIN
)
LEAVE_SERVER = Script(
    __file__, "leave", servers=SERVERS, fitted=MISFITS_KEY, most=MISFITS, again=AGAIN, ended=ENDED, lately=LAST_CALLS
)

Outcome = Literal[
    "fit", "misfit", "slow", "refused", "yielded", "away", "filtered", "declined", "unauthorized", "broken", "other"
]
WHY_FAILED: dict[str, Outcome] = {
    "time-out": "slow",
    "rate limit": "refused",
    "model away": "away",
    "content filter": "filtered",
    "refused": "declined",
    "credentials": "unauthorized",
    "quota": "unauthorized",
    "server error": "broken",
}


class Permit(NamedTuple):
    """A call that has begun: its id, its kind, how many calls there were with it, and had begun beside others by then.

    One that is `overdue` was held back for so long that it gives way to nobody.
    """

    id: str
    kind: str
    calls: int
    overdue: bool
    joined: int


class ServerLimit:
    """The limit of one server for the calls of one model and lane, in one Redis. Threads share it."""

    def __init__(self, client: redis.Redis, server: str, model: str, lane: Lane, *, timeout: float) -> None:
        state = f"{STATE}{server}"
        self.server, self.model, self.lane = server, model, lane
        self.client = client
        self._state, self._calls, self._waiting = state, f"{state}:calls", f"{state}:waiting"
        self._lasts = timeout + GRACE

    def enter(self, call_id: str, kind: str) -> Permit | None:
        """Begin a call; None where it has to wait.

        Raises `NotYet` where the breaker is open, and `TryAgain` until the time that the model named with a 429.
        """
        key = _SEPARATOR.join((self.model, self.lane, kind))
        granted, *told = ENTER_SERVER(
            self.client,
            state=self._state,
            calls=self._calls,
            waiting=self._waiting,
            rank=RANKS[self.lane],
            kind=key,
            id=call_id,
            worker=WORKER_INCARNATION,
            seconds=self._lasts,
        )
        if granted == -2:
            words = f"{self.model} answered 429 to another call, and nobody asks it before the time that it named."
            raise TryAgain(words, float(told[0]), "rate limit", asked=False)
        if granted == -1:
            raise NotYet(
                f"The last {MISFITS} replies of {self.model} were refusals or of no use for {self.lane}, so it is "
                "not asked for now. One call tries again every five minutes. Another model may do better.",
                float(told[0]) + random.uniform(0, GRACE),
                hold=_held_by(key),
            )
        return Permit(call_id, key, int(told[0]), bool(told[1]), int(told[2])) if granted else None

    @property
    def gives_way(self) -> bool:
        """True if a call of this lane ends where somebody waits; not on others' servers, where begun calls are paid."""
        return RANKS[self.lane] == LAST and is_private(self.server)

    def is_wanted(self) -> bool:
        """True if somebody waits for this server, or for a reply of it, and it can do few calls at once."""
        with self.client.pipeline(transaction=False) as ask:
            ask.hget(self._state, "limit")
            ask.zrange(self._calls, 0, -1)
            ask.zrange(self._waiting, 0, -1)
            limit, begun, waits = ask.execute()
        return float(limit or 1) < FEW and any(not str(one).startswith(f"{LAST}") for one in (*begun, *waits))

    def turn(self) -> float:
        """Seconds until a call that had to wait may look again.

        One looks after the other, however many wait: with all of them every few seconds, 240 messages took half a
        processor, on which the model was, too.
        """
        limit = max(1.0, float(self.client.hget(self._state, "limit") or 1))
        turn, now = self.client.hincrbyfloat(self._state, "turn", APART / limit), time.time()
        if turn != (kept := min(max(turn, now + SOON), now + LATER)):
            self.client.hset(self._state, "turn", kept)
        return kept - now + random.uniform(0, APART)

    def leave(self, permit: Permit, outcome: Outcome, pace: float, wait: float = 0.0) -> None:
        """End a call that took `pace` seconds for a unit of work, 0 where not known. One that fits lets go on at once
        what the breaker held back. For `wait` seconds, five minutes at most, the model is to be left alone."""
        closes = LEAVE_SERVER(
            self.client,
            state=self._state,
            calls=self._calls,
            rank=RANKS[self.lane],
            kind=permit.kind,
            id=permit.id,
            worker=WORKER_INCARNATION,
            outcome=outcome,
            before=permit.calls,
            joined=permit.joined,
            pace=pace,
            wait=wait,
        )
        if closes:
            ParkedMessages(self.client).wake_held(_held_by(permit.kind))


def _held_by(kind: str) -> str:
    """The name of what holds back messages that the breaker of this model, lane and kind does not let through."""
    return f"misfits {kind.replace(_SEPARATOR, ' ')}"


def pace_of(client: redis.Redis, server: str) -> float:
    """Seconds that a server takes to write a token, by its calls alone so far; 0 where that is not known."""
    return float(client.hget(f"{STATE}{server}", "alone") or 0)


class ServerNow(NamedTuple):
    """A model's server now: how many calls it may have at once, how many have begun, and how many wait for a place."""

    address: str
    limit: int
    calls: int
    waiting: int


def servers_now(client: redis.Redis) -> list[ServerNow]:
    """Servers that were asked in the last day, by address."""
    found, now = [], time.time()
    for state in sorted(map(str, client.smembers(SERVERS))):
        with client.pipeline(transaction=False) as ask:
            ask.hget(state, "limit")
            ask.zcount(f"{state}:calls", now, "+inf")
            ask.zcount(f"{state}:waiting", now, "+inf")
            limit, calls, waiting = ask.execute()
        if limit is not None:
            found.append(ServerNow(state.removeprefix(STATE), max(int(float(limit)), 1), calls, waiting))
    return found


def misfits_in_a_row(client: redis.Redis) -> dict[tuple[str, ...], int]:
    """How many replies in a row were of no use, by model, lane and kind."""
    found = client.hgetall(MISFITS_KEY).items()
    return {tuple(str(kind).split(_SEPARATOR)): int(str(known).split(" ")[0]) for kind, known in found}


def last_calls(client: redis.Redis) -> dict[str, list[str]]:
    """How the last calls of each model ended, the newest first; not of one that had none for ten minutes."""
    found = {str(model): str(text).split(" ") for model, text in client.hgetall(ENDED).items()}
    return {model: ended for model, (at, *ended) in found.items() if time.time() - float(at) < LATELY}


Note = Callable[[Lane, Outcome, float, Usage], None]
"""Is told of each call: its lane, how it ended, its seconds, and its tokens."""


class ConcurrencyLimited(ChatAround):
    """A chat model whose calls begin when its server can take them.

    Raises `NotYet` where that is not so within `patience` seconds; what nobody waits for does not wait in its thread.
    """

    def __init__(
        self, chat: Chat, limit: ServerLimit, note: Note = lambda *_: None, *, patience: float = SERVER_WAIT
    ) -> None:
        super().__init__(chat)
        self._limit = limit
        self._note = note
        self._patience = patience if RANKS[limit.lane] < LAST else SHORTLY
        self._ended = threading.Condition()

    def _call(self, call: Callable[[], R], asked: ChatCall) -> R:
        permit = self._wait(asked.kind)
        outcome: Outcome = "other"
        wait = 0.0
        usage: Usage | None = None
        text = ""
        began = time.monotonic()
        gave_way = False

        def is_interrupted() -> bool:
            nonlocal gave_way
            gave_way = self._limit.is_wanted()
            return gave_way

        may_give_way = self._limit.gives_way and not permit.overdue
        token = INTERRUPTED.set(is_interrupted if may_give_way else None)
        try:
            said = call()
            usage, text = said.usage, said.text if isinstance(said, Reply) else ""
            outcome = "fit" if not isinstance(said, Reply) or fits(said, asked.schema) else "misfit"
            return said
        except (UselessReply, RefusedReply) as error:
            usage = error.usage
            outcome = "misfit" if error.reason in PAID else WHY_FAILED.get(error.reason, "other")
            raise
        except (TryAgain, GiveUp) as error:
            if gave_way:
                outcome = "yielded"
                words = f"It gave way to what somebody waits for, as the server of {self.name} does few calls at once."
                raise NotYet(words, random.uniform(5, 15), hold=f"server {self.name}") from error
            outcome = WHY_FAILED.get(error.reason, "other")
            if isinstance(error, TryAgain) and outcome == "refused":
                wait = error.wait or 0.0
            raise
        finally:
            INTERRUPTED.reset(token)
            seconds = time.monotonic() - began
            self._leave(permit, outcome, _pace(seconds, usage, asked, text), wait)
            self._note(self._limit.lane, outcome, seconds, usage or Usage())

    def _wait(self, kind: str) -> Permit:
        call_id, deadline = uuid4().hex, time.monotonic() + self._patience
        while (permit := self._limit.enter(call_id, kind)) is None:
            if time.monotonic() >= deadline:
                last = next(iter(last_calls(self._limit.client).get(self._limit.model, ())), "fit")
                slow = ", and its last call timed out" if last == "slow" else ""
                words = f"The server of {self.name} has as many requests as it can do at once{slow}."
                raise NotYet(words, self._limit.turn(), hold=f"server {self.name}")
            with self._ended:
                self._ended.wait(random.uniform(0.5, 1.5) * LOOK_AGAIN)
        return permit

    def _leave(self, permit: Permit, outcome: Outcome, pace: float, wait: float) -> None:
        try:
            self._limit.leave(permit, outcome, pace, wait)
        except RedisError as error:  # the call's answer is not to be lost: the permit ends by itself
            log.warning("It could not be noted that a call of %s has ended: %s", self.name, error)
        with self._ended:
            self._ended.notify()


def _pace(seconds: float, usage: Usage | None, asked: ChatCall, text: str) -> float:
    """Seconds for a token that is written, or for as many as are read meanwhile; 0 where nothing was said.

    Where the server counts no tokens, they are by the length of what was said.
    """
    if usage is None:
        return 0.0
    if not usage.prompt_tokens + usage.completion_tokens:
        usage = Usage(prompt_tokens=asked.estimate(), completion_tokens=len(text) // CHARACTERS_PER_TOKEN)
    return seconds / (1 + usage.completion_tokens + (usage.prompt_tokens - usage.cached_tokens) / READ_AS_FAST)
