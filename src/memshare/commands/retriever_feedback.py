"""`memshare retriever feedback`: whether recalls of a pool feed back words or concepts of their first hits."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import redis
import typer

from memshare.broker.errors import BadInput
from memshare.broker.settings import load_settings
from memshare.client import Client
from memshare.commands.options import Json
from memshare.console import console, print_json, table
from memshare.local.own_redis import connected, encoder_in_use

if TYPE_CHECKING:
    from memshare.retriever_trainer.feedback_gate import Gain

# What reads lessons imports numpy, so it is imported where it is used.


def feedback(
    pool: Annotated[str, typer.Option(help="The pool.")],
    off: Annotated[bool, typer.Option("--off", help="Feed nothing back, and measure nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Let recalls of a pool feed back words or concepts of their first hits, if held-out lessons rank better for sure.

    Example: memshare retriever feedback --pool logic
    """
    from memshare.retriever_trainer.feedback_switch import FeedbackSwitch
    from memshare.retriever_trainer.lesson_log import LessonLog

    settings = load_settings()
    with connected(settings) as redis_client, closing(Client(settings)) as client:
        encoder = encoder_in_use(settings, redis_client)
        require_lessons(redis_client, pool, encoder)
        lessons = LessonLog(redis_client, pool, encoder, kept=settings.lessons_kept, keep_days=settings.keep_days)
        switch = FeedbackSwitch(redis_client, client.memories)
        if off:
            switch.switch_off(lessons)
            _say([], None, pool, as_json=as_json)
            return
        with console.status("Ranking held-out lessons …"):
            decision = switch.decide(lessons)
        _say(*decision, pool, as_json=as_json)


def require_lessons(client: redis.Redis, pool: str, encoder: str) -> None:
    """Raise `BadInput` for a pool that has had no lesson with an encoder."""
    from memshare.retriever_trainer.lesson_log import retrievers

    there = retrievers(client, encoder)
    if pool not in there:
        raise BadInput(
            f"No pool {pool!r} has had a lesson with the encoder {encoder!r}. There are: {', '.join(there) or 'none'}."
        )


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
