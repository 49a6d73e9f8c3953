"""Chat models whose calls are counted and paid by a task's agent and submitter, or timed."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

from memshare_broker.errors import TryAgain
from memshare_broker.observe import gen_ai, tracing
from memshare_broker.wire.messages import Usage
from memshare_llm.chat import Chat, ChatAround, ChatCall, NoLogprobs, R, RefusedReply, Reply, UselessReply, was_cut
from memshare_llm.limits.budget import Prices
from memshare_llm.limits.usage import Charge, UsageLog

log = logging.getLogger(__name__)


class Payer(NamedTuple):
    """For whom calls are made: the journey of a task, its agent (empty where there is none) and its submitter."""

    journey: str
    agent: str
    submitter: str


Metering = Callable[[Chat, Payer], AbstractContextManager[Chat]]
"""Gives a stage the chat model for one task, for as long as it works on it."""


def unmetered(chat: Chat, payer: Payer) -> AbstractContextManager[Chat]:  # noqa: ARG001
    """The model as it is, where nothing is counted."""
    return nullcontext(chat)


def uncapped(agent: str, submitter: str) -> None:
    """The check where nothing is capped."""


class Metered(ChatAround):
    """Counts each call once, when it was made: also one whose reply cannot be used, or did not come in time.

    Threads may share one.
    """

    def __init__(self, chat: Chat, payer: Payer, usage: UsageLog, prices: Prices) -> None:
        super().__init__(chat)
        self._payer = payer
        self._usage = usage
        self._prices = prices
        self._there = tracing.here()

    def _call(self, call: Callable[[], R], asked: ChatCall) -> R:
        try:
            with self._there():
                said = call()
        except (UselessReply, RefusedReply) as error:
            self._count(error.usage)
            raise
        except TryAgain as error:
            if error.reason == "time-out":  # it read the prompt, and nobody tells how much of it
                self._count(Usage(prompt_tokens=asked.estimate()))
            raise
        except NoLogprobs as error:
            if error.usage != Usage():  # a provider that was not even asked takes nothing
                self._count(error.usage)
            raise
        self._count(said.usage)
        return said

    def _count(self, usage: Usage) -> None:
        money = self._prices.cost(self.name, usage)
        self._usage.add(Charge(self._payer.agent, self._payer.submitter, self.name, usage, money))


class Timed(ChatAround):
    """Tells `note` the model and the seconds of each call that got a reply, also one that cannot be used.

    What a call waits for a rate limit is not among them. A prompt that the server cut is logged.
    """

    def __init__(self, chat: Chat, note: Callable[[str, float], None]) -> None:
        super().__init__(chat)
        self._note = note

    def _call(self, call: Callable[[], R], asked: ChatCall) -> R:
        about = gen_ai.operation("chat", self.name) | gen_ai.asked(asked.turns)
        about["gen_ai.output.type"] = "json" if asked.schema else "text"
        with tracing.span(f"chat {about['gen_ai.request.model'] or ''}".strip(), about, client=True):
            started = time.monotonic()
            try:
                said: R | NoLogprobs = call()
            except NoLogprobs as error:
                said = error  # nothing failed: it was asked, and says no
            except (UselessReply, RefusedReply) as error:
                self._told(started, error.usage)
                raise
            if not isinstance(said, NoLogprobs) or said.usage != Usage():  # one that was not even asked took no time
                self._told(started, said.usage)
            if isinstance(said, Reply):
                tracing.note(gen_ai.said(said.text))
        if isinstance(said, NoLogprobs):
            raise said
        if was_cut(asked.turns, said.usage):
            log.warning("%s counted %d tokens of a prompt: it cut it.", self.name, said.usage.prompt_tokens)
        return said

    def _told(self, started: float, usage: Usage) -> None:
        self._note(self.name, time.monotonic() - started)
        tracing.note(gen_ai.tokens(usage))
