"""Sets a cap, for the command line and for REST alike: what agents and submitters may use in a UTC day."""

from __future__ import annotations

from typing import NamedTuple

import redis

from memshare.client.client import Client
from memshare_broker.connection import reaching
from memshare_broker.errors import BadInput
from memshare_llm.limits.budget import Budget, Cap, Holder
from memshare_llm.limits.prices import Prices, load_prices
from memshare_llm.limits.usage import UsageLog

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
