"""`memshare retriever consolidate`, and the way back from it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import redis
import typer
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from memshare.broker.app import SCORER_QUEUE, TRAINER_QUEUE
from memshare.broker.errors import BadInput, MemshareError
from memshare.broker.presence import present
from memshare.broker.settings import Settings, load_settings
from memshare.commands.options import Json
from memshare.console import console, errors, print_json, table
from memshare.local.own_redis import connected

# The store's engines take a second to import and torch several, so what needs them is imported where it is used.
if TYPE_CHECKING:
    from memshare.retriever_trainer.consolidation.consolidation import Consolidated


def consolidate(
    pool: Annotated[str | None, typer.Option(help="Train on the lessons of this pool alone.")] = None,
    as_json: Json = False,
) -> None:
    """Train the encoder itself on the lessons, and re-encode all memories with it. Agents go on answering meanwhile.

    Where MEMSHARE_ENCODER names another encoder than the pool has, it re-encodes with that one as it is.

    Example: memshare retriever consolidate
    """
    from memshare.memory_service.pool.encoder_names import first_name, origin_of
    from memshare.pool_reader import pool_pages
    from memshare.retriever_trainer.consolidation.consolidation import Consolidation

    settings = load_settings()
    with connected(settings) as client, pool_pages(settings, client) as (pages, name):
        first = first_name(settings)
        trains = origin_of(name) == first
        if not trains:
            if pool is not None:
                raise BadInput("--pool says whose lessons to train on, and nothing is trained here: leave it out.")
            _require_nobody_uses(client, name)
            errors.print(f"The pool has vectors of {name}, and MEMSHARE_ENCODER names {first}.", highlight=False)
            errors.print("It is re-encoded with that one as it is.", highlight=False)
        with _bars() as bars:
            work = Consolidation(settings, client, pages, name, bars)
            done = work.train(pool) if trains else work.move_to(first, with_lessons=True)
    _say_done(done, as_json=as_json)


def back_to_encoder_before(settings: Settings, *, as_json: bool) -> None:
    """Re-encode with the encoder before the last consolidation what is new since, and use it again."""
    from memshare.memory_service.pool.encoder_names import BEFORE, first_name, origin_of
    from memshare.pool_reader import pool_pages
    from memshare.retriever_trainer.consolidation.consolidation import Consolidation

    with connected(settings) as client, pool_pages(settings, client) as (pages, name):
        before = str(client.get(BEFORE) or name)
        if before == name:
            raise BadInput(f"The pool has had no encoder but {name!r}: there is nothing to go back to.")
        if origin_of(before) != first_name(settings):
            raise BadInput(
                f"The encoder before was {before!r}. Set MEMSHARE_ENCODER to {origin_of(before)!r}, and run this again."
            )
        if origin_of(before) != origin_of(name):
            _require_nobody_uses(client, name)
        with _bars() as bars:
            done = Consolidation(settings, client, pages, name, bars).move_to(before, with_lessons=False)
    _say_done(done, as_json=as_json)


def _require_nobody_uses(client: redis.Redis, encoder: str) -> None:
    """Workers can follow to an encoder that goes back to the one of their settings, and to no other."""
    if any(set(worker.queues) - {SCORER_QUEUE, TRAINER_QUEUE} for worker in present(client)):
        raise MemshareError(
            f"Workers that use the encoder {encoder!r} run, and they could not follow. End `memshare up` and all"
            " workers, run this again, and start them with the new MEMSHARE_ENCODER."
        )


class _Bars:
    """One bar for each thing that is done; the next thing ends the one before it."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, what: str, done: int, total: int | None) -> None:
        if what not in self._tasks:
            for task in self._tasks.values():
                self._progress.update(task, total=1, completed=1)
                self._progress.stop_task(task)
            self._tasks[what] = self._progress.add_task(what, count="")
        count = f"{done}/{total}" if total else str(done or "")
        self._progress.update(self._tasks[what], completed=done, total=total, count=count)


@contextmanager
def _bars() -> Iterator[_Bars]:
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[count]}"), TimeElapsedColumn())
    with Progress(*columns, console=errors, transient=True) as progress:
        yield _Bars(progress)


def _say_done(done: Consolidated, *, as_json: bool) -> None:
    if as_json:
        print_json(done.model_dump(mode="json"))
        return
    rows = [("encoder", done.encoder_before, done.encoder)]
    for name, figure in (("held-out accuracy", done.held_out_accuracy), ("nDCG on the probe", done.probe_ndcg)):
        if figure:
            rows.append((name, f"{figure.before:.3f}", f"{figure.after:.3f}"))
    console.print(table("", "before", "now", rows=rows), highlight=False)
    trained = f"Trained on {done.lessons} lessons of {', '.join(done.pools)}. " if done.pools else ""
    console.print(
        f"{trained}{done.memories} memories have its vectors. Agents use it from their next task on.\n"
        "To go back: memshare retriever rollback --encoder",
        highlight=False,
    )
