"""`memshare memories forget`: memories go into the trash, and if wanted what the retrievers learnt from them."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from memshare.client import Client
from memshare.commands.before_forgetting import (
    AllAnonymous,
    DryRun,
    Ids,
    Submitter,
    Task,
    WithChildren,
    Yes,
    chosen,
    require_consent,
    show,
)
from memshare.commands.options import Json
from memshare.commands.unlearning import retrievers_without
from memshare.console import console, print_json
from memshare.extras import require
from memshare.memory_pages import counted


def forget(
    memory_ids: Ids = None,
    submitter: Submitter = None,
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

    `memories restore` brings them back, and `memories purge` takes them away for good.

    Example: memshare memories forget --submitter mallory --with-children
    """
    if roll_back:
        require("memshare memories forget --roll-back", "trainer")
    client = Client()
    which = chosen(client, memory_ids, submitter, task, children=with_children, trash=False)
    preview = client.memories.forget_preview(which)
    if dry_run or not yes:
        show(preview, "would be forgotten")
    if dry_run:
        if as_json:
            print_json({"would_forget": preview.model_dump(mode="json")})
        return
    require_consent(which, "Forget them?", yes=yes, all_anonymous=all_anonymous)
    forgotten = client.memories.forget(which.model_copy(update={"roll_back": bool(roll_back)}))
    ask = not (as_json or yes) and sys.stdin.isatty()
    taught = retrievers_without(client, forgotten, roll_back, ask=ask)
    if as_json:
        print_json({"forgotten": [str(one) for one in forgotten], "retrievers": taught})
        return
    console.print(f"Forgot {counted(len(forgotten))}. `memshare memories restore` brings them back within 30 days.")
