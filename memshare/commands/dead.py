"""`memshare dead`: what was given up, and what to do about it."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from broker.connection import reaching
from broker.dead_letters import DeadLetter
from broker.errors import BadInput
from memshare.client import Client
from memshare.commands.options import Json
from memshare.console import console, print_json, short, table

app = typer.Typer(help="Dead letters: tasks that were given up, kept until you decide.", no_args_is_help=True)

LetterId = Annotated[str, typer.Argument(metavar="ID", help="An id that `memshare dead list` shows.")]


@app.command("list")
def list_letters(as_json: Json = False) -> None:
    """List the dead letters, oldest first.

    Example: memshare dead list
    """
    client = Client()
    with reaching(client.settings.redis):
        letters = client.dead_letters.all()
    if as_json:
        print_json([letter.model_dump(mode="json") for letter in letters])
        return
    if not letters:
        console.print("No dead letters.")
        return
    rows = [(one.entry.id, one.entry.task, one.kind, one.tries, _when(one), short(one.error)) for one in letters]
    console.print(table("id", "task", "kind", "tries", "died", "error", rows=rows))


@app.command()
def show(letter_id: LetterId, as_json: Json = False) -> None:
    """Show a dead letter whole: message, error, traceback.

    Example: memshare dead show 1c6f…
    """
    client = Client()
    with reaching(client.settings.redis):
        letter = client.dead_letters.get(letter_id)
    if as_json:
        print_json(letter.model_dump(mode="json"))
        return
    console.print(
        f"[bold]{letter.entry.task}[/] {letter.entry.id} · {letter.kind} · {letter.tries} tries · {_when(letter)}"
    )
    console.print(f"[red]{letter.error}[/]")
    console.print_json(data=letter.entry.body)
    console.print(letter.traceback, style="dim", highlight=False, markup=False)


@app.command()
def retry(
    letter_id: Annotated[str | None, typer.Argument(metavar="ID")] = None,
    retry_all: Annotated[bool, typer.Option("--all", help="Every dead letter that can be retried.")] = False,
    as_json: Json = False,
) -> None:
    """Put a task back into its queue, under its old id. Safe to repeat.

    Example: memshare dead retry --all
    """
    client = Client()
    if (letter_id is None) != retry_all:
        raise BadInput("Give the id of a dead letter, or --all.")
    with reaching(client.settings.redis):
        letters = (
            [one for one in client.dead_letters.all() if one.retriable]
            if retry_all
            else [client.dead_letters.get(letter_id or "")]
        )
        retried = [letter.entry.id for letter in letters if client.dead_letters.retry(client.app, letter)]
    if as_json:
        print_json({"retried": retried})
    else:
        console.print(f"{len(retried)} back in the queue.")


@app.command()
def drop(letter_id: LetterId, as_json: Json = False) -> None:
    """Drop a dead letter for good.

    Example: memshare dead drop 1c6f…
    """
    client = Client()
    with reaching(client.settings.redis):
        client.dead_letters.drop(client.dead_letters.get(letter_id))
    if as_json:
        print_json({"dropped": letter_id})
    else:
        console.print(f"Dropped {letter_id}.")


def _when(letter: DeadLetter) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(letter.died))
