"""`memshare memories forget`: memories go into the trash, and if wanted what the retrievers learnt from them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

import typer

from memshare.cli.curate.before_forgetting import (
    AllAnonymous,
    DryRun,
    Ids,
    Model,
    Submitter,
    Task,
    WithChildren,
    chosen,
    require_consent_to,
    show,
)
from memshare.cli.curate.unlearning import retrievers_without
from memshare.cli.options import Json, Yes
from memshare.client.client import Client
from memshare.extras import require
from memshare.terminal.console import console, errors, print_json
from memshare.terminal.ids import short_id
from memshare.terminal.memory_pages import counted
from memshare_memory.curate.requests import Forget


def forget(
    memory_ids: Ids = None,
    submitter: Submitter = None,
    model: Model = None,
    task: Task = None,
    with_children: WithChildren = False,
    roll_back: Annotated[
        bool | None,
        typer.Option(
            "--roll-back/--keep-retriever",
            help="Put the retrievers where they would be without them, and with --submitter take back the credit that "
            "their tasks gave. [default: ask for the retrievers]",
        ),
    ] = None,
    yes: Yes = False,
    all_anonymous: AllAnonymous = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Forget memories: agents are not shown them from the next task on. The trash has them for 30 days.

    `memories restore` brings them back, and `memories purge` removes them for good. What was written from a statement
    among them is stale: agents are not shown it until it is graded again or kept.

    Example: memshare memories forget --submitter mallory --with-children
    """
    if roll_back:
        require("memshare memories forget --roll-back", "trainer")
    client = Client()
    which = chosen(client, memory_ids, submitter=submitter, model=model, task=task, children=with_children, trash=False)
    if dry_run or not yes:
        preview = client.memories.forget_preview(which)
        show(preview, "would be forgotten")
        if dry_run:
            if as_json:
                print_json({"would_forget": preview.model_dump(mode="json")})
            return
    require_consent_to(which, "Forget them?", yes=yes, all_anonymous=all_anonymous)
    stale = 0 if with_children else written_from(client, which.ids)
    forgotten = client.memories.forget(which.model_copy(update={"roll_back": bool(roll_back)}))
    ask = not (as_json or yes) and sys.stdin.isatty()
    retrievers = retrievers_without(client, forgotten, roll_back, ask=ask, submitter=submitter)
    if as_json:
        print_json({"forgotten": [str(one) for one in forgotten], "retrievers": retrievers, "stale": stale})
        return
    if not forgotten:
        console.print("0 memories were forgotten: there is none of that kind.")
        return
    back = f"`memshare memories restore {short_id(forgotten[0])}` brings it back"
    if len(forgotten) > 1:
        back = "`memshare memories trash` lists them, and `memshare memories restore ID` brings one back"
    console.print(f"Forgot {counted(len(forgotten))}. {back} within 30 days.")
    say_stale(stale)


def written_from(client: Client, memories: Sequence[UUID]) -> int:
    """How many memories were written from the statements among some; they are stale when those change or go."""
    ids = tuple(one for one in memories if client.memories.get(one).is_statement)
    return client.memories.forget_preview(Forget(ids=ids, only_children=True)).memories if ids else 0


def say_stale(count: int, source: str = "it") -> None:
    """Say what became of memories that were written from a statement that is gone, was found wrong, or has changed."""
    if count:
        errors.print(
            f"{counted(count)} written from {source}: stale now, and not shown until graded again (`memshare memories"
            " edit ID --grade`) or kept (`--status active`). `memshare memories list --status stale` lists them."
        )
