"""`memshare dead`: what was given up, and what to do about it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from shlex import quote
from typing import Annotated, get_args

import typer

from memshare.cli.operating import operating, print_reply
from memshare.cli.options import Json, Yes
from memshare.client.rest.calls.operating import DeadLetterReply
from memshare.operations import operating as operations
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller
from memshare.terminal.console import (
    console,
    errors,
    moment,
    print_json,
    require_consent,
    short,
    shown_json,
    styled,
    table,
)
from memshare.terminal.ids import counted, find_letter, short_id
from memshare_broker.errors import BadInput, Reason

app = typer.Typer(help="Dead letters: tasks that were given up, kept until you decide.")

OnlyReason = Annotated[str | None, typer.Option("--reason", help='Only those with this reason, such as "time-out".')]
LETTER_ID = "An id that `memshare dead list` shows, or its first 8 digits."
LetterId = Annotated[str, typer.Argument(metavar="ID", help=LETTER_ID)]


FEW = 10  # dead letters, each of which is listed without being asked for


@app.command("list")
def list_letters(
    every: Annotated[bool, typer.Option("--all", help=f"List each, also of more than {FEW}.")] = False,
    reason: OnlyReason = None,
    as_json: Json = False,
) -> None:
    """List the reasons of dead letters with what tries all of one again or drops them; then each, oldest first.

    Of more than ten it lists each with --all or --reason alone.

    Example: memshare dead list --reason "rate limit"
    """
    with operating() as (backend, caller):
        letters = _letters(backend, caller, reason)
    if as_json:
        print_reply(letters)
        return
    if not letters:
        console.print("No dead letters.")
        return
    for why, _ in Counter(one.reason for one in letters).most_common():
        _print_reason(why, [one for one in letters if one.reason == why])
    if not (every or reason or len(letters) <= FEW):
        errors.print("`memshare dead list --all` lists each, with --reason those of one.", style="dim")
        return
    rows = [
        (short_id(one.id), one.task, one.reason, one.tries, moment(one.died)[5:16], short(one.error)) for one in letters
    ]
    console.print(table("id", "task", "reason", "tries", "died (UTC)", "error", rows=rows, whole="died (UTC)"))
    errors.print("`memshare dead show ID` shows one whole, with what it says to do.", style="dim")


def _print_reason(reason: str, letters: Sequence[DeadLetterReply]) -> None:
    newest = f", the newest of {moment(max(one.died for one in letters))[5:16]} UTC"
    console.print(styled((reason, "bold"), f": {counted(len(letters), 'dead letter')}{newest}"))
    for command in ("retry", "drop") if any(one.retriable for one in letters) else ("drop",):
        console.print(f"  memshare dead {command} --reason {quote(reason)}")


@app.command()
def show(
    letter_id: LetterId,
    traceback: Annotated[bool, typer.Option("--traceback", help="Show where in the code it failed, too.")] = False,
    as_json: Json = False,
) -> None:
    """Show a dead letter: its error, what to do about that, and its message without vectors. With --json all of it.

    Example: memshare dead show 1c6fa3b2
    """
    with operating() as (backend, _), backend.reaching():
        letter = backend.client.dead_letters.get(find_letter(backend.client, letter_id))
    if as_json:
        print_reply(letter)
        return
    tries = counted(letter.tries, "try")
    of = "" if letter.entry.begins else f" of journey {letter.entry.journey}"
    about = f" {letter.entry.id}{of} · {letter.reason} ({letter.kind}) · {tries} · {moment(letter.died)}"
    console.print(styled((letter.entry.task, "bold"), about))
    console.print(letter.error, style="red")
    retry = f"`memshare dead retry {short_id(letter.entry.id)}` tries it again." if letter.retriable else ""
    console.print(f"{TO_DO.get(letter.reason, 'Mend what it says.')} {retry} --traceback has where it failed.")
    console.print(re.sub(r'"[A-Za-z0-9+/=]{200,}"', '"…"', shown_json(letter.entry.body, indent=2)))  # vectors
    if traceback:
        console.print(letter.traceback, style="dim", soft_wrap=True)


TO_DO: dict[Reason, str] = {
    **dict.fromkeys(("unknown model", "no model", "refused"), "Mend or replace the model."),
    "credentials": "Mend the key (OPENAI_API_KEY or MISTRAL_API_KEY) or its account, and start again what has it.",
    "quota": "Mend the billing of the model's account; then it works.",
    "content filter": "Write the task otherwise, or name another model.",
    **dict.fromkeys(("invalid reply", "cut off"), "Its replies lack the form: name a larger model."),
    **dict.fromkeys(("rate limit", "time-out", "connection", "busy", "store", "model away"), "It may work by now."),
}
"""Advice by reason; of any other the error says it."""


@app.command()
def retry(
    letter_id: Annotated[str | None, typer.Argument(metavar="ID", help=LETTER_ID)] = None,
    retry_all: Annotated[bool, typer.Option("--all", help="Every dead letter that can be retried.")] = False,
    reason: OnlyReason = None,
    as_json: Json = False,
) -> None:
    """Put a task back into its queue, under its old id. Safe to repeat.

    Example: memshare dead retry --all
    """
    with operating() as (backend, caller):
        chosen = _chosen(backend, caller, letter_id, reason, every=retry_all, retriable=True)
        retried = operations.decide_letters(backend, caller, "retry", chosen)
    print_json({"retried": retried}) if as_json else console.print(f"{len(retried)} back in the queue.")


@app.command()
def drop(
    letter_id: Annotated[str | None, typer.Argument(metavar="ID", help=LETTER_ID)] = None,
    drop_all: Annotated[bool, typer.Option("--all", help="Every dead letter.")] = False,
    reason: OnlyReason = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Drop dead letters for good.

    Example: memshare dead drop --reason "rate limit"
    """
    with operating() as (backend, caller):
        chosen = _chosen(backend, caller, letter_id, reason, every=drop_all)
        if letter_id is None and chosen and not yes:
            errors.print(f"{counted(len(chosen), 'dead letter')} would be dropped for good.")
            require_consent("Drop them?", yes=yes)
        dropped = operations.decide_letters(backend, caller, "drop", chosen)
    if as_json:
        print_json({"dropped": dropped})
    else:
        console.print(f"Dropped {counted(len(dropped), 'dead letter')}.")


def _chosen(
    backend: Backend, caller: Caller, letter_id: str | None, reason: str | None, *, every: bool, retriable: bool = False
) -> list[str]:
    """The ids that are meant; `retriable`: of several only those that can be retried."""
    if (letter_id is None) != (every or reason is not None):
        raise BadInput("Give the id of a dead letter, or --all, or --reason.")
    if letter_id is not None:
        with backend.reaching():
            return [backend.client.dead_letters.get(find_letter(backend.client, letter_id)).entry.id]
    return [one.id for one in _letters(backend, caller, reason) if one.retriable or not retriable]


def _letters(backend: Backend, caller: Caller, reason: str | None) -> list[DeadLetterReply]:
    if reason is not None and reason not in get_args(Reason):
        raise BadInput(f"No dead letter dies of {reason!r}. The reasons are: {', '.join(get_args(Reason))}.")
    return [one for one in operations.dead_letters(backend, caller) if reason in (None, one.reason)]
