"""`memshare memories forget`: memories go for good, and if wanted what the retrievers learnt from them."""

from __future__ import annotations

import sys
from typing import Annotated, Any
from uuid import UUID

import typer

from memshare.client import Client
from memshare.commands.options import Json
from memshare.console import console, errors, print_json
from memshare.extras import NeedsExtra, require
from memshare.local.own_redis import connected, encoder_in_use
from memshare.memory_service.curate.requests import Forget


def forget(
    memory_ids: Annotated[list[UUID] | None, typer.Argument(metavar="ID…")] = None,
    submitter: Annotated[str | None, typer.Option(help="All memories of this submitter.")] = None,
    task: Annotated[str | None, typer.Option(help="The memory of this task.")] = None,
    with_children: Annotated[bool, typer.Option("--with-children", help="And everything derived from them.")] = False,
    roll_back: Annotated[
        bool | None,
        typer.Option(
            "--roll-back/--keep-retriever",
            help="Put the retrievers where they would be without them. [default: ask]",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Forget memories for good; agents are not shown them from the next task on.

    Example: memshare memories forget --submitter mallory --with-children
    """
    which = Forget(ids=tuple(memory_ids or ()), submitter=submitter, task_id=task, with_children=with_children)
    if roll_back:
        require("memshare memories forget --roll-back", "trainer")
    client = Client()
    forgotten = client.memories.forget(which)
    taught = _retrievers(client, forgotten, roll_back, ask=not as_json and sys.stdin.isatty())
    if as_json:
        print_json({"forgotten": [str(one) for one in forgotten], "retrievers": taught})
    else:
        console.print(f"Forgot {len(forgotten)} memories.")


def _retrievers(client: Client, forgotten: list[UUID], roll_back: bool | None, *, ask: bool) -> list[dict[str, Any]]:
    """What the retrievers learnt from forgotten memories; undone, where that is wanted."""
    try:
        require("To see what retrievers learnt from them", "trainer")
    except NeedsExtra as needed:
        errors.print(f"{needed} They keep it until then.", highlight=False, soft_wrap=True, markup=False)
        return []
    # The trainer's modules take torch, which takes seconds, so they are imported where they are used.
    from memshare.retriever_trainer.lesson_log import LessonLog, retrievers
    from memshare.retriever_trainer.unlearn import lessons_with, unlearn

    found = []
    settings = client.settings
    with connected(settings) as redis_client:
        encoder = encoder_in_use(settings, redis_client)
        for pool in retrievers(redis_client, encoder) if forgotten else ():
            log = LessonLog(redis_client, pool, encoder, kept=settings.lessons_kept, keep_days=settings.keep_days)
            lessons = len(lessons_with(log, forgotten))
            if not lessons:
                continue
            undo = roll_back
            if undo is None and ask:
                undo = typer.confirm(
                    f"The retriever of pool {pool} had {lessons} lessons with them. Learn without them?"
                )
            version = log.head().version
            if undo:
                with errors.status(f"The retriever of pool {pool} learns again, without {lessons} lessons …"):
                    version = unlearn(log, forgotten).version
            elif undo is None:
                errors.print(
                    f"The retriever of pool {pool} had {lessons} lessons with them, and keeps what it learnt, as"
                    f" --roll-back was not given. `memshare retriever rollback --pool {pool}` goes back by versions.",
                    highlight=False,
                    soft_wrap=True,
                )
            found.append({"pool": pool, "lessons": lessons, "rolled_back": bool(undo), "version": version})
    return found
