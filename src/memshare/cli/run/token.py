"""`memshare token`: who may ask at the doors, and what."""

from __future__ import annotations

from typing import Annotated

import typer

from memshare.cli.operating import operating, print_reply
from memshare.cli.options import Json
from memshare.client.pools import pools_known
from memshare.operations import operating as operations
from memshare.operations.caller import RIGHTS
from memshare.operations.serving import ask
from memshare.terminal.console import console, errors, moment, print_text, table
from memshare_broker.errors import BadInput, TryAgain
from memshare_broker.settings import Settings
from memshare_llm.limits.budget import load_prices

app = typer.Typer(help="Tokens: who may use `memshare serve`, and for what.")

ALL = "*"

Name = Annotated[str, typer.Argument(metavar="NAME", help="Owner; recorded as the submitter. a-z, A-Z, 0-9, -.")]


@app.command()
def create(
    name: Name,
    may: Annotated[str, typer.Option(metavar="RIGHTS", help=f"With commas: {', '.join(RIGHTS)}.")],
    pools: Annotated[str, typer.Option(metavar="POOLS", help="The pools it sees, with commas; '*' is all.")],
    group: Annotated[
        str | None, typer.Option(metavar="TEAM", help="What its members say of each other's memories proves nobody.")
    ] = None,
    daily_usd: Annotated[
        float | None, typer.Option(min=0, help="What may be spent for it in a UTC day; it takes MEMSHARE_PRICES.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a token and print it once: only its hash is stored.

    Example: memshare token create ada --may recall,offer --pools logic,plan
    """
    chosen = None if pools.strip() == ALL else _words(pools)
    given = {"name": name, "may": _words(may), "pools": chosen, "group": group}
    with operating() as (backend, caller):
        if daily_usd is not None:
            _require_prices(backend.settings)
        is_first = not operations.tokens(backend, caller)
        made = ask("The token", operations.create, backend, caller, **given)
        if daily_usd is not None:
            operations.set_one(backend, caller, "submitter", name, money=daily_usd)
        try:
            there = pools_known(backend.client) if chosen else set()
            for pool in sorted({*(chosen or ())} - there):
                errors.print(f"No pool is called {pool!r} yet. There are: {', '.join(sorted(there))}.", style="yellow")
        except TryAgain as error:
            errors.print(f"Whether there are such pools is not known: {error}", style="yellow")
    print_reply(made) if as_json else print_text(made.token)
    if is_first:
        errors.print(
            "This is the first token: from now on every request to `memshare serve` needs one, on this machine, too."
            " `memshare token revoke` of the last one ends that."
        )


@app.command("list")
def list_tokens(as_json: Json = False) -> None:
    """List the tokens, what they may do and in which pools.

    Example: memshare token list
    """
    with operating() as (backend, caller):
        tokens = operations.tokens(backend, caller)
    if as_json:
        print_reply(tokens)
        return
    if not tokens:
        console.print("No tokens: `memshare serve` serves its user on this machine alone.")
        return
    rows = [
        (
            one.name,
            one.group or "",
            ", ".join(one.may),
            "all" if one.pools is None else ", ".join(one.pools),
            moment(one.created),
        )
        for one in tokens
    ]
    console.print(table("name", "group", "may", "pools", "created", rows=rows))


@app.command()
def revoke(name: Name, as_json: Json = False) -> None:
    """Revoke a token, at once. What it brought in stays; `memories forget` removes it.

    Example: memshare token revoke ada
    """
    with operating() as (backend, caller):
        revoked = operations.revoke(backend, caller, name)
    if as_json:
        print_reply(revoked)
        return
    console.print(f"Revoked {name}.")
    if not revoked.left:
        console.print("There is no token any more: `memshare serve` serves its user on this machine without one.")


def _words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def _require_prices(settings: Settings) -> None:
    prices, model = load_prices(settings.prices), settings.model_for("agents")
    if prices.of(model) is None or prices.currency != "USD":
        raise BadInput(
            f"Dollars can be capped only where calls have a price in USD, and {model!r} has none. Write one into a "
            "TOML file, and name the file in MEMSHARE_PRICES, here and for the workers: docs/budgets.md."
        )
