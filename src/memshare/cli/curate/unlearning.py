"""What the retrievers learnt from memories that are no more: told, and undone where that is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import typer

from memshare.client.client import Client
from memshare.client.pools import encoder_in_use
from memshare.extras import NeedsExtra, require
from memshare.operate.own_redis import connected
from memshare.terminal.console import errors
from memshare_broker.observe.plain_text import plain


def retrievers_without(
    client: Client, gone: Sequence[UUID], roll_back: bool | None, *, ask: bool, submitter: str | None = None
) -> list[dict[str, Any]]:
    """The retrievers that were taught with these memories: the pool, by how much, and the version in use now.

    With a `submitter` also those that this person's answers and words taught. With `roll_back` they learn again without
    all that. None asks where that is possible, and else leaves them.
    """
    if not gone and submitter is None:
        return []
    try:
        require("To see what retrievers learnt from them", "trainer")
    except NeedsExtra as needed:
        errors.print(f"{needed} They keep it until then.")
        return []
    # Not all who forget have what the trainer takes, so it is imported where it is used.
    from memshare_trainer.lessons.lesson_log import LessonLog, retrievers
    from memshare_trainer.lessons.lessons_with import lessons_with, words_with

    found = []
    settings = client.settings
    with connected(settings) as redis_client:
        encoder = encoder_in_use(settings, redis_client)
        for pool in retrievers(redis_client, encoder):
            log = LessonLog(redis_client, pool, encoder, kept=settings.lessons_kept, keep_days=settings.keep_days)
            lessons, words = len(lessons_with(log, gone, submitter)), words_with(log, gone, submitter)
            if lessons or words:
                had = f"{lessons:,} lessons and {words:,} words of graded answers and feedback"
                undone, version = _undone(log, gone, submitter, had, roll_back, ask=ask)
                taught = {"lessons": lessons, "evidence": words}
                found.append({"pool": pool, **taught, "rolled_back": undone, "version": version})
    return found


def _undone(
    log: Any, gone: Sequence[UUID], submitter: str | None, had: str, roll_back: bool | None, *, ask: bool
) -> tuple[bool, int]:
    """Whether one retriever, given as its `LessonLog`, learns again without what it `had`; and its version then."""
    undo, version = roll_back, log.head().version
    if undo is None and ask:
        question = f"The retriever of pool {log.pool} had {had} with them. Learn without them?"
        undo = typer.confirm(plain(question), err=True)
    if undo:
        from memshare_trainer.learning.relearn import unlearn  # torch, which takes more than a second

        with errors.status(f"The retriever of pool {log.pool} learns again, without {had} …"):
            version = unlearn(log, gone, submitter).version
        errors.print(f"The retriever of pool {log.pool} has learnt again, without {had}.")
    elif undo is None:
        errors.print(
            f"The retriever of pool {log.pool} had {had} with them, and keeps what it learnt, as"
            f" --roll-back was not given. `memshare retriever rollback --pool {log.pool}` goes back by versions."
        )
    return bool(undo), version
