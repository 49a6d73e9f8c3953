"""`memshare budget`: what agents and submitters may use in a day, and what they have used."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated

import typer

from memshare.cli.options import Json
from memshare.cli.run.budget_show import limits, print_spending
from memshare.client.client import Client
from memshare.client.spending import spending
from memshare.terminal.console import console, errors, print_json
from memshare_broker.connection import connect, reaching
from memshare_broker.errors import BadInput
from memshare_llm.limits.budget import Budget, Cap, Holder
from memshare_llm.limits.prices import Prices, load_prices
from memshare_llm.limits.usage import UsageLog, day_of

app = typer.Typer(
    help="Spend caps: what agents and submitters may use in a UTC day.", no_args_is_help=True, add_completion=False
)

_NO_PRICE = (
    "Money can be capped only where calls have a price, and {model!r} has none. Write one into a TOML file, and name "
    "the file in MEMSHARE_PRICES, here and for the workers: docs/budgets.md."
)


@app.command("set")
def set_cap(
    agent: Annotated[str | None, typer.Option(metavar="NAME", help="Agent that the cap is for.")] = None,
    submitter: Annotated[str | None, typer.Option(metavar="NAME", help="Submitter that the cap is for.")] = None,
    tokens: Annotated[int | None, typer.Option(min=0, help="Tokens a day.")] = None,
    money: Annotated[float | None, typer.Option(min=0, help="Money a day, in the currency of the prices.")] = None,
    none: Annotated[bool, typer.Option("--none", help="Remove the cap.")] = False,
    as_json: Json = False,
) -> None:
    """Set, raise or remove a cap; tasks that wait for it continue at once. What is not named is unchanged.

    Example: memshare budget set --agent poem --tokens 100000
    """
    holder = _holder(agent, submitter)
    if none == (tokens is not None or money is not None):
        raise BadInput("Say what the cap is with --tokens N or --money X, or take it away with --none.")
    client = Client()
    prices = load_prices(client.settings.prices)
    if not none:
        model = _model_of(client, agent)
        if money is not None and prices.of(model) is None:
            raise BadInput(_NO_PRICE.format(model=model))
    with reaching(client.settings.redis):
        budget, usage = _open(client)
        before = Cap() if none else budget.caps().get(holder, Cap())
        cap = Cap(
            tokens=before.tokens if tokens is None else tokens,
            money=before.money if money is None else money,
        )
        budget.set(holder, None if none else cap)
        go_on = client.ledger.lift(holder.hold)
        free = _unpriced(client, prices, agent, usage) if money is not None else []
    if as_json:
        print_json({"kind": holder.kind, "name": holder.name, **cap.model_dump(), "go_on": go_on, "unpriced": free})
        return
    may = f"may use {' and '.join(limits(cap, prices.currency))} in a UTC day" if not none else "has no cap"
    console.print(
        f"{holder.kind.capitalize()} {holder.name!r} {may}. Tasks that go on now: {go_on}.",
        soft_wrap=True,
    )  # fmt: skip
    if free:
        line = (
            f"These models have no price, so their calls count as free, and the cap does not hold them: {_list(free)}."
        )
        errors.print(line, style="yellow", soft_wrap=True, markup=False)


@app.command()
def show(as_json: Json = False) -> None:
    """Show the caps, what is left of them, which tasks wait, and what was used today.

    Example: memshare budget show
    """
    client = Client()
    prices = load_prices(client.settings.prices)
    with reaching(client.settings.redis):
        budget, usage = _open(client)
        found = spending(day_of(time.time()), budget.caps(), usage.today(), client.ledger.parked(), prices)
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        print_spending(found)


def _holder(agent: str | None, submitter: str | None) -> Holder:
    if agent and submitter is None:
        return Holder("agent", agent)
    if submitter and agent is None:
        return Holder("submitter", submitter)
    raise BadInput("Say whom the cap is for: --agent NAME or --submitter NAME, one of the two.")


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


def _list(models: Sequence[str]) -> str:
    return ", ".join(map(repr, models))


def _open(client: Client) -> tuple[Budget, UsageLog]:
    redis = connect(client.settings.redis, tries=1)
    usage = UsageLog(redis)
    return Budget(redis, usage), usage
