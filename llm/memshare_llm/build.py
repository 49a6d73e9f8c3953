"""Builds the chat models that workers ask: within their rate limits, with what they use counted, and resumed.

A task that was stopped from outside goes on with the replies that it has paid for. Else a task of many calls would
begin anew each time a rate limit or a lost connection stops it half-way, and under a limit of fewer calls than it takes
it would pay for ever and never end.
"""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import redis

from memshare_broker.connection import connect
from memshare_broker.delivery.hops import Hop
from memshare_broker.errors import OUTAGES, NotYet, TryAgain
from memshare_broker.settings import OFFLINE, Settings
from memshare_broker.settings_file import PROVIDERS, parse_rate_limits, rate_limit_for
from memshare_llm.batches import MOST
from memshare_llm.chat import Chat, ChatAround, ChatCall, FirstToken, ModelWindow, R, Reply, Window
from memshare_llm.deferred import DeferredCalls, deferring
from memshare_llm.limits.budget import Budget, Metered, Metering, Payer, Timed, load_prices
from memshare_llm.limits.concurrency import ConcurrencyLimited, Lane, ServerLimit, pace_of
from memshare_llm.limits.usage import UsageLog
from memshare_llm.models import has_model, open_batch_api, open_chat, server_of

OUTSIDE = OUTAGES | {"rate limit", "server error", "time-out", "connection", "busy"}
MOST_TASKS = 1_000  # that wait at once in a process; of more, the oldest ask again

Said = defaultdict[Hashable, list[Reply | FirstToken]]


class Resumed(ChatAround):
    """Gives what was said to a task's question before; asks the model where there is nothing left."""

    def __init__(self, chat: Chat, said: Said) -> None:
        super().__init__(chat)
        self.given: Said = defaultdict(list)
        self._said = said
        self._lock = threading.Lock()

    def _call(self, call: Callable[[], R], asked: ChatCall) -> R:
        question = (tuple(asked.turns), asked.schema, asked.first_token)
        with self._lock:
            before = self._said[question].pop() if self._said[question] else None
        reply = cast(R, before) if before is not None else call()
        with self._lock:
            self.given[question].append(reply)
        return reply

    def all_said(self) -> Said:
        """All replies so far, given or not."""
        for question, replies in self._said.items():
            self.given[question] += replies
        return self.given


class Unfinished:
    """The replies of the tasks that wait, in the memory of this process."""

    def __init__(self) -> None:
        self._said: OrderedDict[str, Said] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def resumed(self, chat: Chat, task: str) -> Iterator[Chat]:
        """The model for one go at a task; what it says is kept if the task is stopped from outside, and only then."""
        with self._lock:
            said = self._said.pop(task, None)
        resumed = Resumed(chat, said if said is not None else defaultdict(list))
        try:
            yield resumed
        except (NotYet, TryAgain) as error:
            if isinstance(error, TryAgain) and error.reason not in OUTSIDE:
                raise  # what was said itself was of no use
            if not any((kept := resumed.all_said()).values()):
                raise
            with self._lock:
                self._said[task] = kept
                if len(self._said) > MOST_TASKS:
                    self._said.popitem(last=False)
            raise


WORK_OF_ONE = 200  # tokens that are written, or eight times as many read, for one of those that share a call


def open_limited(settings: Settings, model: str, lane: Lane, *, connections: int) -> Chat:
    """The chat model of a name, for calls of one lane: as many at once as its server can do, and within its rate limit
    if it has one. See `open_chat`."""
    timeout = settings.model_timeout
    chat: Chat = Timed(open_chat(model, timeout=timeout, connections=connections), _usage(settings).took)
    if has_model(chat):
        shared = ServerLimit(_client(settings), server_of(model), model, lane, timeout=timeout)
        chat = ConcurrencyLimited(chat, shared, functools.partial(_usage(settings).ended, model))
    limit = rate_limit_for(model, parse_rate_limits(settings.rate_limits or ""))
    if limit is None:
        return chat
    from memshare_llm.limits.rate_limits import RateLimited, SharedLimit

    return RateLimited(chat, SharedLimit(_client(settings), model, limit))


@functools.cache
def open_window(settings: Settings, model: str) -> ModelWindow:
    """The window of a model by its name; that of the setting where its server does not tell it."""
    provider, _, name = model.partition(":")

    def ask() -> Window | None:
        if provider not in PROVIDERS:
            return None
        from memshare_llm.providers.http_client import find_window

        return find_window(provider, name)

    return ModelWindow(ask, settings.model_window)


def fit_in_time(settings: Settings, model: str) -> Callable[[], int]:
    """How many of what share a call a model is done with in half of its time limit, by its pace so far."""

    def count() -> int:
        pace = pace_of(_client(settings), server_of(model)) if model != OFFLINE else 0.0
        return int(settings.model_timeout / 2 / (pace * WORK_OF_ONE)) if pace else MOST

    return count


def open_metering(settings: Settings) -> Metering:
    """Counts what tasks use; raises `BadInput` for a file of prices that cannot be used."""
    usage, prices, unfinished = _usage(settings), load_prices(settings.prices), Unfinished()

    @contextmanager
    def metered(chat: Chat, payer: Payer) -> Iterator[Chat]:
        with unfinished.resumed(Metered(chat, payer, usage, prices), payer.journey) as resumed:
            yield resumed

    return metered


@functools.cache
def open_deferred(settings: Settings, model: str) -> DeferredCalls | None:
    """The deferred calls of a model, one for a process; None where none is to be deferred."""
    api = open_batch_api(model, timeout=settings.model_timeout) if settings.batch_api else None
    return DeferredCalls(_client(settings), api, _usage(settings), load_prices(settings.prices)) if api else None


def hand_in_deferred(settings: Settings, model: str) -> None:
    """Let this process take its turn with the deferred calls of a model, if there are any; called every few seconds."""
    if calls := open_deferred(settings, model):
        calls.take_turn()


def open_deferring(settings: Settings, model: str, hop: Hop[Any, Any]) -> Metering:
    """The same as `open_metering`, for what can wait: a provider's Batch API is asked, where the settings say so."""
    metering, calls = open_metering(settings), open_deferred(settings, model)
    return deferring(metering, calls, hop) if calls else metering


@functools.cache
def open_budget(settings: Settings) -> Budget:
    """The caps, one for a process."""
    return Budget(_client(settings), _usage(settings))


@functools.cache
def _client(settings: Settings) -> redis.Redis:
    return connect(settings.redis)


@functools.cache
def _usage(settings: Settings) -> UsageLog:
    return UsageLog(connect(settings.redis, tries=1))  # an answer waits for it, and it bridges an outage itself
