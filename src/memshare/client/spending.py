"""What was spent today, and what is left of the caps, as `memshare budget show` tells it."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Literal, NamedTuple

import redis
from pydantic import BaseModel

from memshare.client.client import Client
from memshare_broker.connection import reaching
from memshare_broker.errors import BadInput
from memshare_llm.limits.budget import Budget, Cap, Holder, Prices, load_prices
from memshare_llm.limits.usage import UsageLog, Used, day_of

if TYPE_CHECKING:
    from memshare.client.client import Client

_NO_PRICE = (
    "Money can be capped only where calls have a price, and {model!r} has none. Write one into a TOML file, and name "
    "the file in MEMSHARE_PRICES, here and for the workers: docs/budgets.md."
)


class CapSet(NamedTuple):
    """A cap that was set: how many tasks go on now, and the models that it does not hold, as they have no price."""

    cap: Cap
    go_on: int
    unpriced: list[str]


def set_cap(client: Client, redis_client: redis.Redis, holder: Holder, cap: Cap | None) -> CapSet:
    """Set, raise or, with None, take away a cap; tasks that wait for it go on. What `cap` leaves out is unchanged.

    Raises `BadInput` for an unknown agent, and for money where calls have no price.
    """
    agent = holder.name if holder.kind == "agent" else None
    prices = load_prices(client.settings.prices)
    if cap is not None:
        model = _model_of(client, agent)
        if cap.money is not None and prices.of(model) is None:
            raise BadInput(_NO_PRICE.format(model=model))
    with reaching(client.settings.redis):
        usage = UsageLog(redis_client)
        budget = Budget(redis_client, usage)
        whole = None if cap is None else (budget.caps().get(holder, Cap()) | cap)
        budget.set(holder, whole)
        go_on = client.ledger.parked.lift(holder.hold)
        has_money = cap is not None and cap.money is not None
        return CapSet(whole or Cap(), go_on, _unpriced(client, prices, agent, usage) if has_money else [])


def _model_of(client: Client, agent: str | None) -> str:
    """The chat model of an agent, or that of all where the cap is a submitter's; raises `BadInput` if unknown."""
    if agent is None:
        return client.settings.model_for("agents")
    agents = client.agents()
    if agent not in agents:
        raise BadInput(f"No agent is called {agent!r}. There are: {', '.join(sorted(agents))}.")
    return agents[agent].model


def _unpriced(client: Client, prices: Prices, agent: str | None, usage: UsageLog) -> list[str]:
    """The models that work for the cap's holder, and those that have today, which have no price."""
    agents = client.agents().values()
    models = {card.model for card in agents if agent in (None, card.name)}
    models |= {client.settings.model_for("scorer"), client.settings.model_for("trainer")} | usage.today()[
        "model"
    ].keys()
    return sorted(model for model in models if prices.of(model) is None)


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
