"""A chat model for one task, whose calls are counted and paid by the task's agent and submitter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

from pydantic import BaseModel

from memshare_broker.observe import tracing
from memshare_broker.wire.messages import Turn, Usage
from memshare_llm.chat import Chat, FirstToken, NoLogprobs, RefusedReply, Reply, UselessReply
from memshare_llm.limits.prices import Prices
from memshare_llm.limits.usage import Charge, UsageLog


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


class Metered:
    """Counts each call once, when it was made: also one whose reply cannot be used. Threads may share one."""

    def __init__(self, chat: Chat, payer: Payer, usage: UsageLog, prices: Prices) -> None:
        self.name = chat.name
        self._chat = chat
        self._payer = payer
        self._usage = usage
        self._prices = prices
        self._there = tracing.here()

    def reply(self, turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> Reply:
        try:
            with self._there():
                reply = self._chat.reply(turns, schema)
        except (UselessReply, RefusedReply) as error:
            self._count(error.usage)
            raise
        self._count(reply.usage)
        return reply

    def first_token(self, turns: Sequence[Turn]) -> FirstToken:
        try:
            with self._there():
                token = self._chat.first_token(turns)
        except (UselessReply, RefusedReply) as error:
            self._count(error.usage)
            raise
        except NoLogprobs as error:
            if error.usage != Usage():  # a provider that was not even asked takes nothing
                self._count(error.usage)
            raise
        self._count(token.usage)
        return token

    def _count(self, usage: Usage) -> None:
        money = self._prices.cost(self.name, usage)
        self._usage.add(Charge(self._payer.agent, self._payer.submitter, self.name, usage, money))
