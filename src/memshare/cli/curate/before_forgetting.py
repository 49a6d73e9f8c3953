"""What a command that forgets or purges does first: it shows what would go, and asks."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import typer

from memshare.cli.options import ANONYMOUS
from memshare.client.client import Client
from memshare.terminal.consent import require_consent
from memshare.terminal.console import errors, table
from memshare.terminal.ids import find_in_trash, find_memory, short_id
from memshare.terminal.memory_pages import counted, prompt_and_answer, text_columns
from memshare_broker.errors import BadInput
from memshare_memory.curate.requests import Forget
from memshare_memory.forget.answers import ForgetPreview

Ids = Annotated[list[str] | None, typer.Argument(metavar="ID…", help="Their ids, or the first 8 digits of each.")]
Submitter = Annotated[str | None, typer.Option(help="All memories of this submitter.")]
Model = Annotated[str | None, typer.Option(help="All memories with an answer of this model.")]
Task = Annotated[str | None, typer.Option(help="The memory of this task.")]
WithChildren = Annotated[bool, typer.Option("--with-children", help="And everything derived from them.")]
AllAnonymous = Annotated[
    bool, typer.Option("--all-anonymous", help="With --yes: also for the submitter anonymous, who is everybody.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would go, and do nothing.")]


def chosen(
    client: Client,
    ids: list[str] | None,
    *,
    submitter: str | None,
    model: str | None,
    task: str | None,
    children: bool,
    trash: bool,
) -> Forget:
    """The request that these options make; with `trash` an id may be of the trash alone."""
    if not ids and submitter is None and model is None and task is None:
        raise BadInput("Say which memories: ids, --submitter, --model or --task.")
    found = tuple(_find(client, one, trash=trash) for one in ids or ())
    return Forget(ids=found, submitter=submitter, model=model, task_id=task, with_children=children)


def _find(client: Client, typed: str, *, trash: bool) -> UUID:
    try:
        return find_memory(client, typed)
    except BadInput:
        if not trash:
            raise
        return find_in_trash(client, typed)


def show(preview: ForgetPreview, would: str) -> None:
    """Say on stderr what would go; `would` is such as "would be forgotten"."""
    pools = ", ".join(f"{pool} {count:,}" for pool, count in preview.by_pool.items())
    derived = f"; {preview.derived:,} of them derived from the others" if preview.derived else ""
    trashed = f" {preview.trashed:,} in the trash." if preview.trashed else ""
    where = f" ({pools})" if pools else ""
    line = f"{counted(preview.memories)} {would}{where}{derived}.{trashed}"
    errors.print(line)
    rows = [(short_id(one.id), one.submitter, *prompt_and_answer(one)) for one in preview.examples]
    if rows:
        errors.print(table("id", "submitter", *text_columns(), rows=rows))
    if preview.memories > len(rows):
        errors.print(f"… and {preview.memories - len(rows):,} more", style="dim")


def require_consent_to(forget: Forget, question: str, *, yes: bool, all_anonymous: bool) -> None:
    """Return where the person agrees, by an option or by an answer; end the command where not."""
    everybody = forget.submitter == ANONYMOUS
    if yes and everybody and not all_anonymous:
        raise BadInput(
            "The submitter 'anonymous' is everybody who gave no name: nothing was done. Beside --yes it takes"
            " --all-anonymous."
        )
    if everybody and not yes:
        errors.print("'anonymous' is everybody who gave no name.", style="yellow")
    require_consent(question, yes=yes)
