"""Budgets: what may be used in a UTC day, and what was used."""

from __future__ import annotations

import time
from collections import Counter
from typing import Annotated, Literal

from pydantic import Field

from memshare.client.client import Client
from memshare.client.rest.calls.operating import Budgets, Capped, CapReply, Spending, Spent
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, audit
from memshare.operations.serving import serves
from memshare_broker.errors import BadInput
from memshare_broker.wire.forms import Label
from memshare_llm.limits.budget import Budget, Cap, Holder, Prices, load_prices
from memshare_llm.limits.usage import UsageLog, Used, day_of

_NO_PRICE = (
    "Money can be capped only where calls have a price, and {model!r} has none. Write one into a TOML file, and name "
    "the file in MEMSHARE_PRICES, here and for the workers: docs/budgets.md."
)


@serves(Budgets.get)
def budgets(backend: Backend, caller: Caller) -> Spending:
    """The spending of today, without what is not the caller's to know."""

    def may_know(kind: str, name: str) -> bool:
        card = backend.cards().get(name) if kind == "agent" else None
        return caller.may_all or (
            name == caller.name if kind == "submitter" else card is not None and caller.uses(card)
        )

    prices, usage = load_prices(backend.settings.prices), UsageLog(backend.redis)
    with backend.reaching():
        used, caps, parked = usage.today(), Budget(backend.redis, usage).caps(), backend.client.ledger.parked.all()
    waiting = Counter(one.hold for one in parked)
    spent = {
        kind: {name: Spent(**one._asdict()) for name, one in used[kind].items() if may_know(kind, name)}
        for kind in ("agent", "submitter")
    }
    models = used["model"].items() if caller.may_all else ()
    return Spending(
        day=day_of(time.time()),
        currency=prices.currency,
        caps=[
            _capped(holder, cap, used[holder.kind].get(holder.name, Used()), waiting[holder.hold])
            for holder, cap in caps.items()
            if may_know(holder.kind, holder.name)
        ],
        agents=spent["agent"],
        submitters=spent["submitter"],
        models={name: Spent(**one._asdict(), priced=prices.of(name) is not None) for name, one in models},
    )


def _capped(holder: Holder, cap: Cap, used: Used, waiting: int) -> Capped:
    return Capped(
        **holder._asdict(),
        **cap.model_dump(),
        tokens_used=used.tokens,
        money_used=used.money,
        tokens_left=None if cap.tokens is None else max(cap.tokens - used.tokens, 0),
        money_left=None if cap.money is None else max(cap.money - used.money, 0.0),
        waiting=waiting,
    )


@serves(Budgets.set, "CapForm")
def set_one(
    backend: Backend,
    caller: Caller,
    kind: Literal["agent", "submitter"],
    name: Label,
    tokens: Annotated[int | None, Field(ge=0, le=2**53)] = None,
    money: Annotated[float | None, Field(ge=0, allow_inf_nan=False)] = None,
    none: Annotated[bool, Field(description="whether the cap is taken away")] = False,
) -> CapReply:
    """Set a cap, with what it leaves out unchanged; tasks that wait for it go on.

    Raises `BadInput` for an agent that there is not, and for money where calls have no price.
    """
    caller.require_all()
    if none == (tokens is not None or money is not None):
        raise BadInput("Say what the cap is with 'tokens' or 'money', or take it away with 'none'.")
    holder = Holder(kind, name)
    agent = name if kind == "agent" else None
    prices, usage = load_prices(backend.settings.prices), UsageLog(backend.redis)
    if not none:
        model = _model_of(backend.client, agent)
        if money is not None and prices.of(model) is None:
            raise BadInput(_NO_PRICE.format(model=model))
    with backend.reaching():
        budget = Budget(backend.redis, usage)
        whole = None if none else budget.caps().get(holder, Cap()) | Cap(tokens=tokens, money=money)
        budget.set(holder, whole)
        go_on = backend.client.ledger.parked.lift(holder.hold)
        unpriced = _unpriced(backend.client, prices, agent, usage) if money is not None else ()
    cap = (whole or Cap()).model_dump()
    audit(caller, "cap", kind=kind, name=name, **cap)
    return CapReply(**holder._asdict(), **cap, go_on=go_on, unpriced=tuple(unpriced))


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
    settings = client.settings
    models = {card.model for card in client.agents().values() if agent in (None, card.name)}
    models |= {settings.model_for("scorer"), settings.model_for("trainer")} | usage.today()["model"].keys()
    return sorted(model for model in models if prices.of(model) is None)
