"""Spend caps: how many tokens and how much money an agent or a submitter may use in a UTC day, in Redis."""

from __future__ import annotations

import random
import shlex
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Literal, NamedTuple

import redis
from pydantic import BaseModel, ConfigDict, Field

from memshare_broker.errors import NotYet
from memshare_broker.toml_files import TomlForm, load
from memshare_broker.wire.messages import Message, Usage
from memshare_llm.limits.usage import UsageLog, Used, seconds_left

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
        """Every cap, by kind and name."""
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
