"""What the retrievers learnt from memories that are no more: told, and undone where that is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import typer

from memshare.broker.observe.plain_text import plain
from memshare.client import Client
from memshare.console import errors
from memshare.extras import NeedsExtra, require
from memshare.local.own_redis import connected, encoder_in_use


def retrievers_without(
    client: Client, gone: Sequence[UUID], roll_back: bool | None, *, ask: bool
) -> list[dict[str, Any]]:
    """The retrievers that had lessons with these memories: the pool, how many lessons, and the version in use now.

    With `roll_back` they learn again without those lessons. None asks where that is possible, and else leaves them.
    """
    if not gone:
        return []
    try:
        require("To see what retrievers learnt from them", "trainer")
    except NeedsExtra as needed:
        errors.print(f"{needed} They keep it until then.", soft_wrap=True)
        return []
    # Not all who forget have what the trainer takes, so it is imported where it is used.
    from memshare.retriever_trainer.lesson_log import LessonLog, retrievers
    from memshare.retriever_trainer.lessons_with import lessons_with

    found = []
    settings = client.settings
    with connected(settings) as redis_client:
        encoder = encoder_in_use(settings, redis_client)
        for pool in retrievers(redis_client, encoder):
            log = LessonLog(redis_client, pool, encoder, kept=settings.lessons_kept, keep_days=settings.keep_days)
            lessons = len(lessons_with(log, gone))
            if lessons:
                found.append(_without(log, gone, lessons, roll_back, ask=ask))
    return found


def _without(log: Any, gone: Sequence[UUID], lessons: int, roll_back: bool | None, *, ask: bool) -> dict[str, Any]:
    """One retriever, given as its `LessonLog`."""
    undo, version = roll_back, log.head().version
    if undo is None and ask:
        question = f"The retriever of pool {log.pool} had {lessons} lessons with them. Learn without them?"
        undo = typer.confirm(plain(question), err=True)
    if undo:
        from memshare.retriever_trainer.unlearn import unlearn  # torch, which takes more than a second

        with errors.status(f"The retriever of pool {log.pool} learns again, without {lessons} lessons …"):
            version = unlearn(log, gone).version
    elif undo is None:
        errors.print(
            f"The retriever of pool {log.pool} had {lessons} lessons with them, and keeps what it learnt, as"
            f" --roll-back was not given. `memshare retriever rollback --pool {log.pool}` goes back by versions.",
            soft_wrap=True,
        )
    return {"pool": log.pool, "lessons": lessons, "rolled_back": bool(undo), "version": version}
