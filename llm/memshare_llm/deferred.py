"""Deferred calls: what can wait is asked by a provider's Batch API, at half the price and within a day.

A call is kept in Redis by a name made of the message that asks and of its question: the message waits beside its queue
and, taken again, finds the reply to what it asked, whatever was killed meanwhile. One process at a time hands in what
was asked and fetches what has ended. What has no reply then is asked in the ordinary way.
"""

from __future__ import annotations

import functools
import json
import logging
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from uuid import uuid4

import redis
from pydantic import BaseModel, ValidationError
from redis.lock import Lock

from memshare_broker.delivery.hops import Hop
from memshare_broker.delivery.sweeper import ParkedMessages
from memshare_broker.errors import GiveUp, TryAgain
from memshare_broker.leases import lease
from memshare_broker.wire.messages import Message, Turn, Usage, derived_id
from memshare_llm.chat import BatchApi, Chat, Deferred, FirstToken, RefusedReply, Reply, UselessReply
from memshare_llm.completion import read_choice
from memshare_llm.limits.budget import Metering, Payer, Prices
from memshare_llm.limits.usage import Charge, UsageLog
from memshare_llm.structured import fits

log = logging.getLogger(__name__)

DAY = 86_400
KEPT = 3 * DAY  # seconds; longer than a call waits
GATHER, EVERY = 300.0, 60.0  # seconds that the first of a batch waits for others, and between two looks
MOST = 1_000  # calls in a batch
LOOK_AGAIN = 1_200.0  # seconds until a message looks for its reply that nobody woke
IN_TIME = {False: 3_600.0, True: 26 * 3_600.0}  # seconds until it is given up to hand a batch in, and to wait for it
READY_FOR, TURN = 600, 600  # seconds for which it is known that somebody hands in, and in which one takes a step
PRICE = 0.5  # of that of an ordinary call
CALL = "memshare:deferred:call:"
"""Hash of a call: its `body` and who pays until it has a `reply`, the `message` that asks, and the `batch` it is in. A
reply that is empty is one to be asked for in the ordinary way."""
BATCHES = "memshare:deferred:batches"
"""Hash: name of a batch → its `DeferredBatch`."""
MISSING = "memshare:deferred:missing"
"""Hash: model without a Batch API → until when it is not asked for one, as Unix time in seconds, and why."""


class DeferredBatch(Message):
    """Calls that are asked together; `job` is the provider's id, None where it is not known to have them."""

    model: str
    calls: tuple[str, ...]
    since: float
    job: str | None = None


class _Response(BaseModel):
    status_code: int
    body: dict[str, Any]


class _Line(BaseModel):
    custom_id: str
    response: _Response | None = None


class DeferredCalls:
    """The deferred calls of a model in one Redis. Threads share it."""

    def __init__(
        self,
        client: redis.Redis,
        api: BatchApi,
        usage: UsageLog,
        prices: Prices,
        *,
        gather: float = GATHER,
        every: float = EVERY,
        most: int = MOST,
    ) -> None:
        """A batch is handed in when its first call has waited `gather` seconds, or when there are `most`."""
        self.api = api
        self._client, self._usage, self._prices = client, usage, prices
        self._gather, self._every, self._most = gather, every, most
        self._pending = f"memshare:deferred:pending:{api.name}"  # sorted set: calls, by when they were asked
        self._ready = f"memshare:deferred:ready:{api.name}"

    def ask(self, call: str, message: str, payer: Payer, body: Callable[[], object]) -> str | None:
        """The completion for a call, as JSON; None where it is to be asked in the ordinary way.

        Raises `Deferred` as long as there is none. Where nobody hands in, nothing new is deferred.
        """
        reply, batch, waits = self._client.hmget(f"{CALL}{call}", "reply", "batch", "message")
        if reply is not None:
            return str(reply) or None
        if waits is None:
            if not self._client.exists(self._ready):
                return None
            text = json.dumps(body())
            with self._client.pipeline() as keep:
                keep.hset(
                    f"{CALL}{call}",
                    mapping={"message": message, "agent": payer.agent, "submitter": payer.submitter, "body": text},
                )
                keep.expire(f"{CALL}{call}", KEPT)
                keep.zadd(self._pending, {call: time.time()}, nx=True)
                keep.execute()
        which = f"batch {batch!s}" if batch else f"the next batch of {self.api.name}"
        wait = LOOK_AGAIN if batch else self._gather + 2 * self._every
        raise Deferred(
            f"Its call is of {which}, which costs half, and may take a day (MEMSHARE_BATCH_API).",
            wait * random.uniform(1, 1.2),
            hold=f"deferred {self.api.name}",
        )

    def ask_again(self, call: str) -> None:
        """Its reply was of no use: from now on it is asked for in the ordinary way."""
        self._client.hset(f"{CALL}{call}", "reply", "")

    def take_turn(self) -> None:
        """Hand in what waits and fetch what has ended, unless a process does, or did a moment ago."""
        if not self._client.set(f"{self._ready}:turn", 1, nx=True, px=round(self._every * 1000)):
            return
        with lease(self._client, f"{self._ready}:lease", TURN) as lock:
            if lock is not None:
                self._take_turn(lock)

    def _take_turn(self, lock: Lock) -> None:
        if is_there := self._is_there():
            self._client.set(self._ready, 1, ex=READY_FOR)
        for name, text in self._client.hgetall(BATCHES).items():
            batch = DeferredBatch.model_validate_json(text)
            if batch.model == self.api.name:
                lock.reacquire()
                self._look(str(name), batch)
        while calls := self._due(at_once=not is_there):
            lock.reacquire()
            name, batch = self._take(calls)
            if not is_there:
                self._end(name, batch, {})
            elif not self._hand_in(name, batch):
                break

    def _is_there(self) -> bool:
        known = self._client.hget(MISSING, self.api.name)
        return known is None or float(str(known).split(" ", 1)[0]) <= time.time()

    def _due(self, *, at_once: bool) -> list[str]:
        """The calls of the next batch; none where others may still come."""
        waiting = self._client.zrange(self._pending, 0, self._most - 1, withscores=True)
        is_due = len(waiting) >= self._most or (waiting and time.time() - float(waiting[0][1]) >= self._gather)
        return [str(pair[0]) for pair in waiting] if is_due or at_once else []

    def _take(self, calls: Sequence[str]) -> tuple[str, DeferredBatch]:
        """Make a batch of pending calls, in one step."""
        name, batch = uuid4().hex, DeferredBatch(model=self.api.name, calls=tuple(calls), since=time.time())
        with self._client.pipeline() as take:
            take.hset(BATCHES, name, batch.model_dump_json())
            take.zrem(self._pending, *calls)
            take.execute()
        return name, batch

    def _hand_in(self, name: str, batch: DeferredBatch) -> bool:
        """Give a batch to the provider; False where it was not taken."""
        bodies = {call: body for call in batch.calls if (body := self._client.hget(f"{CALL}{call}", "body"))}
        if not bodies:  # nobody waits any more
            self._end(name, batch, {})
            return True
        try:
            job = self.api.submit(name, {call: json.loads(body) for call, body in bodies.items()})
        except GiveUp as error:
            self._client.hset(MISSING, self.api.name, f"{time.time() + DAY} {error}")
            self._client.delete(self._ready)
            log.warning("%s For a day its calls are made in the ordinary way.", _no_api(self.api.name, str(error)))
            self._end(name, batch, {})
        except TryAgain as error:
            log.info("A batch could not be handed in, and is tried again: %s", error)
        else:
            self._note(name, batch, job)
            return True
        return False

    def _note(self, name: str, batch: DeferredBatch, job: str) -> None:
        at = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(batch.since))
        with self._client.pipeline() as note:
            note.hset(BATCHES, name, batch.model_copy(update={"job": job}).model_dump_json())
            for call in batch.calls:
                note.hset(f"{CALL}{call}", "batch", f"{job} of {batch.model}, of {at}")
                note.expire(f"{CALL}{call}", KEPT)
            note.execute()
        log.info("Handed in %d calls of %s as batch %s.", len(batch.calls), batch.model, job)

    def _look(self, name: str, batch: DeferredBatch) -> None:
        """Fetch what has ended; hand in again what the provider does not have."""
        try:
            if batch.job is not None:
                found = self.api.job(batch.job)
                if found.has_ended:
                    self._end(name, batch, self._replies(found.files), found.status)
                    return
            elif job := self._find(name):
                self._note(name, batch, job)
                return
            else:
                self._hand_in(name, batch)
        except TryAgain as error:
            log.info("A batch could not be looked at, and is later: %s", error)
        except GiveUp as error:
            self._end(name, batch, {}, str(error))
            return
        if time.time() - batch.since > IN_TIME[batch.job is not None] and self._client.hexists(BATCHES, name):
            self._end(name, batch, {}, "late")

    def _find(self, name: str) -> str | None:
        """The job that a process handed in and was killed before it noted that."""
        with suppress(GiveUp):
            return self.api.find(name)
        return None

    def _replies(self, files: Sequence[str]) -> dict[str, str]:
        """The completions in some files, by call; what failed has none."""
        found: dict[str, str] = {}
        for file in files:
            for text in self.api.download(file).splitlines():
                with suppress(ValidationError):
                    line = _Line.model_validate_json(text)
                    if line.response and line.response.status_code == 200:
                        found[line.custom_id] = json.dumps(line.response.body)
        return found

    def _end(self, name: str, batch: DeferredBatch, replies: Mapping[str, str], status: str = "") -> None:
        """Give each call its reply, or have it asked in the ordinary way, in one step; then wake who waits."""
        with self._client.pipeline() as end:
            for call in batch.calls:
                end.hmget(f"{CALL}{call}", "message", "agent", "submitter")
            for call in batch.calls:
                end.hset(f"{CALL}{call}", "reply", replies.get(call, ""))
                end.hdel(f"{CALL}{call}", "body", "agent", "submitter")
                end.expire(f"{CALL}{call}", KEPT)
            end.hdel(BATCHES, name)
            asked = end.execute()[: len(batch.calls)]
        for call, (_, agent, submitter) in zip(batch.calls, asked, strict=True):
            if reply := replies.get(call):
                usage = _usage(batch.model, reply)
                money = PRICE * self._prices.cost(batch.model, usage)
                self._usage.add(Charge(agent or "", submitter or "", batch.model, usage, money))
        ParkedMessages(self._client).wake([str(message) for message, _, _ in asked if message])
        if status:
            missing = sum(call not in replies for call in batch.calls)
            log.log(
                logging.WARNING if missing else logging.INFO,
                "Batch %s of %s ended (%s): %d of %d calls have no reply, and are made in the ordinary way.",
                *(batch.job, batch.model, status, missing, len(batch.calls)),
            )


def missing_batch_apis(client: redis.Redis) -> list[str]:
    """A sentence for each model that has no Batch API, where one was to be used."""
    found = [(str(model), *str(known).split(" ", 1)) for model, known in client.hgetall(MISSING).items()]
    return [_no_api(model, why) for model, until, why in sorted(found) if float(until) > time.time()]


def _no_api(model: str, why: str) -> str:
    return f"MEMSHARE_BATCH_API is set, and {model} took no batch: {why}"


def _usage(model: str, reply: str) -> Usage:
    try:
        return read_choice(model, reply)[1]
    except (UselessReply, RefusedReply) as error:
        return error.usage
    except TryAgain:
        return Usage()


class DeferredChat:
    """A model for one message, whose first question is deferred, however often it asks it; what it asks then is not."""

    def __init__(self, chat: Chat, calls: DeferredCalls, message: str, payer: Payer) -> None:
        self.name = chat.name
        self._chat = chat
        self._calls = calls
        self._message = message
        self._payer = payer
        self._first: str | None = None
        self._times = 0
        self._lock = threading.Lock()

    def reply(self, turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> Reply:
        form = json.dumps(schema.model_json_schema(), sort_keys=True) if schema else ""
        question = str(derived_id(self._message, self.name, form, *(turn.model_dump_json() for turn in turns)))
        with self._lock:
            is_first = self._first in (None, question)
            if is_first:
                self._first, self._times = question, self._times + 1
            call = str(derived_id(question, str(self._times)))
        request = functools.partial(self._calls.api.request, turns, schema)
        body = self._calls.ask(call, self._message, self._payer, request) if is_first else None
        if body is None:
            return self._chat.reply(turns, schema)
        try:
            reply = self._calls.api.read(body, schema)
        except (TryAgain, GiveUp):
            self._calls.ask_again(call)
            raise
        if not fits(reply, schema):
            self._calls.ask_again(call)
        return reply

    def first_token(self, turns: Sequence[Turn]) -> FirstToken:
        return self._chat.first_token(turns)


def deferring(metering: Metering, calls: DeferredCalls, hop: Hop[Any, Any]) -> Metering:
    """A metering whose models defer what messages of a hop ask; what it counts itself are ordinary calls."""

    @contextmanager
    def metered(chat: Chat, payer: Payer) -> Iterator[Chat]:
        with metering(chat, payer) as ordinary:
            yield DeferredChat(ordinary, calls, hop.id_in(payer.journey), payer)

    return metered
