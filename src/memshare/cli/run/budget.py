"""`memshare budget`: what agents and submitters may use in a day, and what they have used."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated

import typer

from memshare.cli.options import Json
from memshare.cli.run.budget_show import limits, print_spending
from memshare.client.caps import set_cap
from memshare.client.client import Client
from memshare.client.spending import spending
from memshare.terminal.console import console, errors, print_json
from memshare_broker.connection import connect, reaching
from memshare_broker.errors import BadInput
from memshare_llm.limits.budget import Budget, Cap, Holder
from memshare_llm.limits.prices import load_prices
from memshare_llm.limits.usage import UsageLog, day_of

app = typer.Typer(
    help="Spend caps: what agents and submitters may use in a UTC day.", no_args_is_help=True, add_completion=False
)


@app.command("set")
def set_one(
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
    cap, go_on, free = set_cap(
        client, connect(client.settings.redis, tries=1), holder, None if none else Cap(tokens=tokens, money=money)
    )
    if as_json:
        print_json({"kind": holder.kind, "name": holder.name, **cap.model_dump(), "go_on": go_on, "unpriced": free})
        return
    currency = load_prices(client.settings.prices).currency
    may = f"may use {' and '.join(limits(cap, currency))} in a UTC day" if not none else "has no cap"
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
        redis = connect(client.settings.redis, tries=1)
        usage = UsageLog(redis)
        caps, parked = Budget(redis, usage).caps(), client.ledger.parked()
        found = spending(day_of(time.time()), caps, usage.today(), parked, prices)
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


def _list(models: Sequence[str]) -> str:
    return ", ".join(map(repr, models))
