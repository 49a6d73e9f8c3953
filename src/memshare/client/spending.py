"""What was spent today, and what is left of the caps, as `memshare budget show` tells it."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Literal

import redis
from pydantic import BaseModel

from memshare_broker.connection import reaching
from memshare_llm.limits.budget import Budget, Cap, Holder
from memshare_llm.limits.prices import load_prices
from memshare_llm.limits.usage import UsageLog, Used, day_of

if TYPE_CHECKING:
    from memshare.client.client import Client


class Spent(BaseModel):
    """What one agent, submitter or model has used; for a model also whether it has a price."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    money: float = 0.0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    priced: bool | None = None


class Capped(BaseModel):
    """A cap, what is used and left of it, and how many tasks wait for it; None where there is no limit."""

    kind: Literal["agent", "submitter"]
    name: str
    tokens: int | None
    money: float | None
    tokens_used: int
    money_used: float
    tokens_left: int | None
    money_left: float | None
    waiting: int


class Spending(BaseModel):
    """A UTC day's spending."""

    day: str
    currency: str | None
    caps: list[Capped]
    agents: dict[str, Spent]
    submitters: dict[str, Spent]
    models: dict[str, Spent]


def spending(client: Client, redis_client: redis.Redis) -> Spending:
    """What was used today, with the caps, and the tasks that wait for them."""
    prices, usage = load_prices(client.settings.prices), UsageLog(redis_client)
    with reaching(client.settings.redis):
        used, caps, parked = usage.today(), Budget(redis_client, usage).caps(), client.ledger.parked.all()
    waiting = Counter(one.hold for one in parked)
    return Spending(
        day=day_of(time.time()),
        currency=prices.currency,
        caps=[
            _capped(holder, cap, used[holder.kind].get(holder.name, Used()), waiting[holder.hold])
            for holder, cap in caps.items()
        ],
        agents={name: Spent(**one._asdict()) for name, one in used["agent"].items()},
        submitters={name: Spent(**one._asdict()) for name, one in used["submitter"].items()},
        models={
            name: Spent(**one._asdict(), priced=prices.of(name) is not None) for name, one in used["model"].items()
        },
    )


def _capped(holder: Holder, cap: Cap, used: Used, waiting: int) -> Capped:
    return Capped(
        kind=holder.kind,
        name=holder.name,
        tokens=cap.tokens,
        money=cap.money,
        tokens_used=used.tokens,
        money_used=used.money,
        tokens_left=None if cap.tokens is None else max(cap.tokens - used.tokens, 0),
        money_left=None if cap.money is None else max(cap.money - used.money, 0.0),
        waiting=waiting,
    )
