"""`memshare budget`: what agents and submitters may use in a day, and what they have used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from memshare.cli.operating import operating, print_reply
from memshare.cli.options import Json
from memshare.client.rest.calls.operating import Capped, Spending, Spent
from memshare.operations.operating import budgets, set_one
from memshare.operations.serving import ask
from memshare.terminal.console import console, errors, table
from memshare_broker.errors import BadInput
from memshare_llm.limits.budget import Cap, Holder, in_words, load_prices

app = typer.Typer(help="Spend caps: what agents and submitters may use in a UTC day.")


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
    with operating() as (backend, caller):
        reply = ask("The cap", set_one, backend, caller, **holder._asdict(), tokens=tokens, money=money, none=none)
    if as_json:
        print_reply(reply)
        return
    currency = load_prices(backend.settings.prices).currency
    cap = Cap(tokens=reply.tokens, money=reply.money)
    may = f"may use {' and '.join(limits(cap, currency))} in a UTC day" if not none else "has no cap"
    console.print(f"{holder.kind.capitalize()} {holder.name!r} {may}. Tasks that go on now: {reply.go_on}.")
    if reply.unpriced:
        names = ", ".join(map(repr, reply.unpriced))
        line = f"These models have no price, so their calls count as free, and the cap does not hold them: {names}."
        errors.print(line, style="yellow")


@app.command()
def show(as_json: Json = False) -> None:
    """Show the caps, what is left of them, which tasks wait, and what was used today.

    Example: memshare budget show
    """
    with operating() as (backend, caller):
        found = budgets(backend, caller)
    print_reply(found) if as_json else print_spending(found)


def _holder(agent: str | None, submitter: str | None) -> Holder:
    if agent and submitter is None:
        return Holder("agent", agent)
    if submitter and agent is None:
        return Holder("submitter", submitter)
    raise BadInput("Say whom the cap is for: --agent NAME or --submitter NAME, one of the two.")


def limits(cap: Cap, currency: str | None) -> list[str]:
    """The limits of a cap, in words."""
    tokens = [f"{cap.tokens:,} tokens"] if cap.tokens is not None else []
    return tokens + ([_money(cap.money, currency)] if cap.money is not None else [])


def print_spending(found: Spending) -> None:
    """The caps with what is left of them, then what was used by whom."""
    console.print(f"Used on {found.day}; the day ends at 24:00 UTC.")
    rows = [row for one in found.caps for row in _rows(one, found.currency)]
    if rows:
        console.print(table("cap of", "a day", "used", "left", "tasks waiting", rows=rows))
    else:
        console.print("No caps. Set one: memshare budget set --agent NAME --tokens N")
    for title, spent in (("agent", found.agents), ("submitter", found.submitters), ("model", found.models)):
        if spent:
            used = [(name, *_amounts(one, found.currency)) for name, one in spent.items()]
            console.print()
            console.print(table(title, "calls", "prompt tokens", "completion tokens", "money", rows=used))
    if any(one.priced is False for one in found.models.values()):
        console.print("A model without a price counts as free: MEMSHARE_PRICES names a file of prices.", style="dim")


def _rows(one: Capped, currency: str | None) -> Iterator[tuple[object, ...]]:
    holder = f"{one.kind} {one.name}"
    if one.tokens is not None:
        yield holder, f"{one.tokens:,} tokens", f"{one.tokens_used:,}", f"{one.tokens_left:,}", one.waiting
    if one.money is not None:
        used, left = _money(one.money_used, currency), _money(one.money_left or 0, currency)
        yield holder, _money(one.money, currency), used, left, one.waiting


def _amounts(one: Spent, currency: str | None) -> tuple[object, ...]:
    free = one.priced is False and not one.money
    money = "no price" if free else f"{in_words(one.money)} {currency or ''}".strip()
    prompt = f"{one.prompt_tokens:,}" + (f" ({one.cached_tokens:,} cached)" if one.cached_tokens else "")
    reasoning = f" ({one.reasoning_tokens:,} reasoning)" if one.reasoning_tokens else ""
    return one.calls, prompt, f"{one.completion_tokens:,}{reasoning}", money


def _money(amount: float, currency: str | None) -> str:
    return f"{in_words(amount)} {currency or 'in money'}"
