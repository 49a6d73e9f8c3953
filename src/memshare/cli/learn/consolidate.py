"""`memshare retriever consolidate`, and the way back from it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.progress import Progress, TaskID, TextColumn

from memshare.cli.options import Json
from memshare.operate.consolidating import run, try_out
from memshare.operate.own_redis import connected
from memshare.terminal.console import console, errors, print_json, table
from memshare.terminal.progress import bars
from memshare_broker.settings import Settings, load_settings
from memshare_trainer.consolidation.outcome import Consolidated, Job, Report, Trial
from memshare_trainer.lessons.figure import Figure


def consolidate(
    pool: Annotated[str | None, typer.Option(help="Train on the lessons of this pool alone.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would bring; change nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Train the encoder itself on the lessons, and re-encode all memories with it. Agents go on answering meanwhile.

    Where MEMSHARE_ENCODER names another encoder than the pool has, it re-encodes with that one as it is.

    Example: memshare retriever consolidate --dry-run
    """
    settings = load_settings()
    if dry_run:
        with connected(settings), _bars() as follow:
            trial = try_out(settings, pool, follow)
        _say_trial(trial, as_json=as_json)
    else:
        _say_done(_run(settings, Job(pool=pool)), as_json=as_json)


def back_to_encoder_before(settings: Settings, *, as_json: bool) -> None:
    """Re-encode with the encoder before the last consolidation what is new since, and use it again."""
    _say_done(_run(settings, Job(what="back")), as_json=as_json)


def _run(settings: Settings, job: Job) -> Consolidated:
    with connected(settings), _bars() as follow:
        return run(settings, job, follow)


class _Bars:
    """One bar for each thing that is done; the next thing ends the one before it."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, report: Report) -> None:
        if report.note is not None:
            errors.print(report.note)
        if report.doing is not None:
            self._show(report.doing, report.done, report.total)

    def _show(self, what: str, done: int, total: int | None) -> None:
        if what not in self._tasks:
            for task in self._tasks.values():
                self._progress.update(task, total=1, completed=1)
                self._progress.stop_task(task)
            self._tasks[what] = self._progress.add_task(what, count="")
        count = f"{done}/{total}" if total else str(done or "")
        self._progress.update(self._tasks[what], completed=done, total=total, count=count)


@contextmanager
def _bars() -> Iterator[_Bars]:
    with bars(TextColumn("{task.fields[count]}")) as progress:
        yield _Bars(progress)


def _say_done(done: Consolidated, *, as_json: bool) -> None:
    if as_json:
        print_json(done.model_dump(mode="json"))
        return
    rows = [("encoder", done.encoder_before, done.encoder, ""), *_figures(done)]
    console.print(table("", "before", "now", "error", rows=rows))
    trained = f"Trained on {done.lessons} lessons of {', '.join(done.pools)}. " if done.pools else ""
    console.print(
        f"{trained}{done.memories} memories have its vectors. Agents use it from their next task on.\n"
        "To go back: memshare retriever rollback --encoder",
    )


def _say_trial(trial: Trial, *, as_json: bool) -> None:
    if as_json:
        print_json(trial.model_dump(mode="json"))
        return
    console.print(table("", "now", "then", "error", rows=_figures(trial)))
    console.print(
        f"Tried on {trial.lessons} lessons of {', '.join(trial.pools)}, and {trial.held_out} held out, in"
        f" {trial.seconds / 60:.1f} min. The encoder would be {'accepted' if trial.accepted else 'refused'}, and"
        f" nothing was changed.\nTo have {trial.memories} memories encoded by it: memshare retriever consolidate"
    )


def _figures(of: Consolidated | Trial) -> list[tuple[str, str, str, str]]:
    """A row for each figure that was measured."""
    named: tuple[tuple[str, Figure | None], ...] = (
        ("what is ranked first helps", of.first_helps),
        ("nDCG on held-out lessons", of.held_out_ndcg),
        ("nDCG on the probe", of.probe_ndcg),
    )
    return [(name, f"{one.before:.3f}", f"{one.after:.3f}", f"± {one.error:.3f}") for name, one in named if one]
