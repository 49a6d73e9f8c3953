"""Costs of calls, and who pays: prices, the chat models that count, and spend caps.

A cap is how many tokens and how much money an agent or a submitter may use in a UTC day, in Redis.
"""

from __future__ import annotations

import logging
import random
import shlex
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import date
from pathlib import Path
from typing import Literal, NamedTuple

import redis
from pydantic import BaseModel, ConfigDict, Field

from memshare_broker.errors import NotYet, TryAgain
from memshare_broker.observe import tracing
from memshare_broker.toml_files import TomlForm, load
from memshare_broker.wire.messages import Message, Usage
from memshare_llm.chat import Chat, ChatAround, ChatCall, NoLogprobs, R, RefusedReply, Reply, UselessReply, was_cut
from memshare_llm.limits.usage import Charge, UsageLog, Used, seconds_left

PER = 1_000_000  # tokens that a price is for
SHIPPED = Path(__file__).with_name("prices.toml")
"""Prices of common models, with the day on which they were so."""


class Price(TomlForm):
    """The price of a million tokens of a prompt and of a completion, and of a prompt's tokens that were cached."""

    prompt: float = Field(ge=0, allow_inf_nan=False)
    completion: float = Field(ge=0, allow_inf_nan=False)
    cached: float | None = Field(default=None, ge=0, allow_inf_nan=False, description="as `prompt`, if left out")

    def cost(self, usage: Usage) -> float:
        cached = self.prompt if self.cached is None else self.cached
        prompt = (usage.prompt_tokens - usage.cached_tokens) * self.prompt + usage.cached_tokens * cached
        return (prompt + usage.completion_tokens * self.completion) / PER


class Prices(BaseModel):
    """A file of prices: `currency`, and a table for each model, by its whole name (`openai:NAME`)."""

    model_config = ConfigDict(frozen=True, extra="allow")
    __pydantic_extra__: dict[str, Price] = Field(init=False)

    currency: str | None = Field(default=None, min_length=1, max_length=10)
    as_of: date | None = Field(default=None, description="the day on which they were so")

    def of(self, model: str) -> Price | None:
        return (self.__pydantic_extra__ or {}).get(model)

    def cost(self, model: str, usage: Usage) -> float:
        """Cost of the tokens, in the file's currency; 0 for a model without a price."""
        price = self.of(model)
        return price.cost(usage) if price else 0.0


def load_prices(path: Path | None) -> Prices:
    """The prices of a file, none without one; raises `BadInput` as FILE:LINE: reason."""
    return Prices() if path is None else load(path, Prices)


CAPS = "memshare:caps"  # hash: holder → cap
JITTER = 60  # seconds; what waits for the next day does not come all at once


class Holder(NamedTuple):
    """Whom a cap is for."""

    kind: Literal["agent", "submitter"]
    name: str

    @property
    def hold(self) -> str:
        """The ledger's name for the tasks that wait for this cap."""
        return f"{self.kind} {self.name}"


class Cap(Message):
    """Most tokens and money for a UTC day; None is no limit. Money is in the currency of the prices."""

    tokens: int | None = Field(default=None, ge=0)
    money: float | None = Field(default=None, ge=0, allow_inf_nan=False)

    def __or__(self, other: Cap) -> Cap:
        """This cap with what the other one says."""
        return self.model_copy(update=other.model_dump(exclude_none=True))

    def reached(self, used: Used) -> tuple[Literal["tokens", "money"], str] | None:
        """The limit that is used up, by its option and in words, if there is any."""
        if self.tokens is not None and used.tokens >= self.tokens:
            return "tokens", f"{self.tokens:,} tokens, is used up ({used.tokens:,})"
        if self.money is not None and used.money >= self.money:
            return "money", f"{in_words(self.money)} in money, is used up ({in_words(used.money)})"
        return None


class Budget:
    """The caps of one Redis."""

    def __init__(self, client: redis.Redis, usage: UsageLog, clock: Callable[[], float] = time.time) -> None:
        self._client = client
        self._usage = usage
        self._clock = clock

    def set(self, holder: Holder, cap: Cap | None) -> None:
        """Set a cap in place of the one before, or take it away."""
        if cap is None:
            self._client.hdel(CAPS, holder.hold)
        else:
            self._client.hset(CAPS, holder.hold, cap.model_dump_json())

    def caps(self) -> dict[Holder, Cap]:
        caps = self._client.hgetall(CAPS).items()
        return {_holder(str(hold)): Cap.model_validate_json(text) for hold, text in sorted(caps)}

    def check(self, agent: str, submitter: str) -> None:
        """Raises `NotYet` until the next UTC day where the cap of the agent or the submitter is reached."""
        holders = [Holder("agent", agent), Holder("submitter", submitter)]
        texts = self._client.hmget(CAPS, [holder.hold for holder in holders])
        capped = {holder: Cap.model_validate_json(text) for holder, text in zip(holders, texts, strict=True) if text}
        if not capped:
            return
        for (holder, cap), used in zip(capped.items(), self._usage.used(list(capped)), strict=True):
            if reached := cap.reached(used):
                wait = seconds_left(self._clock()) + random.uniform(0, JITTER)
                raise NotYet(_message(holder, *reached), wait, holder.hold)


def in_words(money: float) -> str:
    """An amount of money, with more digits where it is small."""
    return f"{money:,.2f}" if money >= 1 or not money else f"{money:.4f}"


def _message(holder: Holder, option: str, reached: str) -> str:
    return (
        f"The cap of {holder.kind} {holder.name!r} for today, {reached}. It goes on at 00:00 UTC, or when "
        f"it is raised: memshare budget set --{holder.kind} {shlex.quote(holder.name)} --{option} N."
    )


def _holder(hold: str) -> Holder:
    kind, name = hold.split(" ", 1)
    return Holder("agent" if kind == "agent" else "submitter", name)


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
        about = tracing.operation("chat", self.name) | tracing.asked(asked.turns)
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
                tracing.note(tracing.said(said.text))
        if isinstance(said, NoLogprobs):
            raise said
        if was_cut(asked.turns, said.usage):
            log.warning("%s counted %d tokens of a prompt: it cut it.", self.name, said.usage.prompt_tokens)
        return said

    def _told(self, started: float, usage: Usage) -> None:
        self._note(self.name, time.monotonic() - started)
        tracing.note(tracing.tokens(usage))
