"""`memshare retriever feedback`: whether recalls of a pool feed back words or concepts of their first hits."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import redis
import typer

from memshare.broker.errors import BadInput
from memshare.broker.settings import load_settings
from memshare.broker.wire.messages import MAX_MEMORIES
from memshare.client import Client
from memshare.commands.options import Json
from memshare.console import console, print_json, table
from memshare.local.own_redis import connected, encoder_in_use
from memshare.memory_service.door.messages import RecallRequest
from memshare.memory_service.recall.feedback import FeedbackInUse, Way
from memshare.memory_service.stores.store import Where

if TYPE_CHECKING:
    from memshare.retriever_trainer.feedback_gate import Gain
    from memshare.retriever_trainer.kept_lesson import KeptLesson

# What reads lessons imports numpy, so it is imported where it is used.


def feedback(
    pool: Annotated[str, typer.Option(help="The pool.")],
    off: Annotated[bool, typer.Option("--off", help="Feed nothing back, and measure nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Let recalls of a pool feed back words or concepts of their first hits, if held-out lessons rank better for sure.

    Example: memshare retriever feedback --pool logic
    """
    from memshare.memory_service.recall.retriever import feedback_key
    from memshare.retriever_trainer.feedback_gate import decide, gains
    from memshare.retriever_trainer.lesson_log import LessonLog

    settings = load_settings()
    with connected(settings) as redis_client, closing(Client(settings)) as client:
        encoder = encoder_in_use(settings, redis_client)
        require_lessons(redis_client, pool, encoder)
        key = feedback_key(pool, encoder)
        if off:
            redis_client.delete(key)
            _say([], None, pool, as_json=as_json)
            return
        log = LessonLog(redis_client, pool, encoder, kept=settings.lessons_kept, keep_days=settings.keep_days)
        with console.status("Ranking held-out lessons …"):
            found = gains(log.held_out(), _Recalls(client, pool).order)
        chosen = decide(found)
        if chosen is None:
            redis_client.delete(key)
        else:
            in_use = FeedbackInUse(
                way=chosen.way, before=chosen.before, after=chosen.after, lessons=chosen.lessons,
                version=log.head().version, decided=time.time(),
            )  # fmt: skip
            redis_client.set(key, in_use.model_dump_json())
        _say(found, chosen, pool, as_json=as_json)


def require_lessons(client: redis.Redis, pool: str, encoder: str) -> None:
    """Raise `BadInput` for a pool that has had no lesson with an encoder."""
    from memshare.retriever_trainer.lesson_log import retrievers

    there = retrievers(client, encoder)
    if pool not in there:
        raise BadInput(
            f"No pool {pool!r} has had a lesson with the encoder {encoder!r}. There are: {', '.join(there) or 'none'}."
        )


class _Recalls:
    """Recalls the candidates of lessons, and no other memory: those that there were when the lesson was made."""

    def __init__(self, client: Client, pool: str) -> None:
        self._client, self._pool = client, pool

    def order(self, lesson: KeptLesson, way: Way) -> list[UUID] | None:
        """The candidates as a recall finds them, best first; None where the memory of the lesson is forgotten."""
        there = self._client.memories.judge([lesson.memory_id])
        if not there:
            return None
        request = RecallRequest(
            pool=self._pool,
            text=there[0].memory.key,
            k=min(len(lesson.labels), MAX_MEMORIES),
            among=Where(ids=tuple(lesson.labels)),
            feedback=way,
        )
        return [one.memory.id for one in self._client.memories.recall(request).found]


def _say(found: Sequence[Gain], chosen: Gain | None, pool: str, *, as_json: bool) -> None:
    if as_json:
        measured = [one._asdict() | {"sure": one.sure} for one in found]
        print_json({"pool": pool, "feedback": chosen.way if chosen else "off", "measured": measured})
        return
    if found:
        from memshare.retriever_trainer.feedback_gate import FEWEST_LESSONS, SURE

        rows = [
            (
                one.way,
                f"{one.before:.3f}",
                f"{one.after:.3f}",
                f"{one.after - one.before:+.3f}",
                f"{SURE * one.error:.3f}",
            )
            for one in found
        ]
        console.print(table("fed back", "accuracy without", "with", "gain", "sure from", rows=rows))
        lessons = found[0].lessons
        few = f" It takes {FEWEST_LESSONS}." if lessons < FEWEST_LESSONS else ""
        console.print(f"On {lessons} held-out lessons; one lesson in ten is held out.{few}", style="dim")
    does = f"feed back {chosen.way}" if chosen else "feed nothing back"
    console.print(f"Recalls of pool {pool} {does}, from the next task on.")
