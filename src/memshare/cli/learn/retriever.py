"""`memshare retriever`: how well it ranks, going back and forward with it, and whom it trusts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Annotated

import typer
from rich.progress import Progress, TaskID, TextColumn

from memshare.cli.operating import note, operating, print_reply
from memshare.cli.options import Json, login_name
from memshare.client.client import Client
from memshare.client.pools import encoder_in_use, is_ever_graded
from memshare.operate.consolidating import run, try_out
from memshare.operate.data_folder import connected
from memshare.operations import retrievers
from memshare.terminal.console import bars, console, errors, print_json, styled, table
from memshare.terminal.ids import counted
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings, load_settings
from memshare_memory.belief.trust import Trust, decide, decided
from memshare_trainer.consolidation.consolidation_state import Consolidated, Job, Report, Trial
from memshare_trainer.lesson import Figure


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
    """A progress bar for each activity; the next activity ends the bar before it."""

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
    trained = f"{_trained(done)}. " if done.pools else ""
    console.print(
        f"{trained}{done.memories} memories have its vectors. Agents use it from their next task on.\n"
        "To go back: memshare retriever rollback --encoder",
    )


def _say_trial(trial: Trial, *, as_json: bool) -> None:
    if as_json:
        print_json(trial.model_dump(mode="json"))
        return
    console.print(table("", "now", "then", "standard error", rows=_figures(trial)))
    console.print(
        f"{_trained(trial)}, in {trial.seconds / 60:.1f} min. The encoder would be"
        f" {'accepted' if trial.accepted else 'refused'}, and nothing was changed.\n"
        f"To have {trial.memories} memories encoded by it: memshare retriever consolidate"
    )


def _trained(of: Consolidated | Trial) -> str:
    held_out = "" if of.held_out is None else f", and measured on {counted(of.held_out, 'lesson')} held out"
    return f"Trained on {counted(of.lessons, 'lesson')} and right answers of {', '.join(of.pools)}{held_out}"


def _figures(of: Consolidated | Trial) -> list[tuple[str, str, str, str]]:
    """A row for each figure that was measured."""
    named: tuple[tuple[str, Figure | None], ...] = (
        ("what is ranked first helps", of.first_helps),
        ("nDCG on held-out lessons", of.held_out_ndcg),
        ("nDCG on the probe", of.probe_ndcg),
    )
    return [(name, f"{one.before:.3f}", f"{one.after:.3f}", f"± {one.error:.3f}") for name, one in named if one]


# The store's engines take a second to import and torch several, so what needs them is imported where it is used.

app = typer.Typer(help="The retriever: what it has learnt, going back to an earlier one, training its encoder.")

UPDATES_IN_JSON, UPDATES_IN_CHART = 50, 2_000


@app.command()
def status(
    pool: Annotated[str | None, typer.Option(help="Only this pool, in more detail.")] = None, as_json: Json = False
) -> None:
    """Show what each pool's retriever has learnt: versions, lessons, held-out accuracy, refused updates.

    Example: memshare retriever status --pool poem
    """
    from memshare.cli.learn.retriever_status import print_status
    from memshare_trainer.status import read_status

    settings = load_settings()
    with connected(settings) as client:
        updates = UPDATES_IN_JSON if as_json else UPDATES_IN_CHART
        found = read_status(client, settings, encoder_in_use(settings, client), pool, updates)
        if pool is not None and not found.pools:
            _require_known(settings, pool)
    if as_json:
        print_json(found.model_dump(mode="json"))
    elif found.pools:
        print_status(found, in_detail=len(found.pools) == 1)
    else:
        with closing(Client(settings)) as memshare:
            workers = memshare.workers()
            is_up, is_graded = bool(workers), is_ever_graded(memshare, workers)
        lacking = "that needs a model, or a rubric that a program checks"
        todo = f"{'' if is_up else 'start `memshare up` and '}submit tasks" if is_graded else lacking
        console.print(
            f"{f'Pool {pool}' if pool else 'No pool'} has had {'no' if pool else 'a'} lesson yet with the encoder"
            f" {found.encoder}. Each accepted answer becomes one, once its pool has some memories: {todo}.",
        )


@app.command()
def rollback(
    pool: Annotated[str | None, typer.Option(help="The pool whose retriever goes back to an earlier version.")] = None,
    to: Annotated[
        int | None, typer.Option(min=0, help="The version; 0 is untrained. [default: the one before]")
    ] = None,
    encoder: Annotated[bool, typer.Option("--encoder", help="Back to the encoder before the consolidation.")] = False,
    as_json: Json = False,
) -> None:
    """Go back to an earlier version of a pool's retriever, or to the encoder before the last consolidation.

    Example: memshare retriever rollback --pool poem --to 12
    """
    if (pool is None) is not encoder or (encoder and to is not None):
        raise BadInput("Give --pool, with --to if you like, or --encoder: one of the two.")
    if pool is None:
        back_to_encoder_before(load_settings(), as_json=as_json)
    else:
        _back_to_version(pool, to, as_json=as_json)


app.command()(consolidate)


@app.command()
def trust(
    submitter: Annotated[str | None, typer.Argument(help="Whom to trust. [default: show who is trusted]")] = None,
    pool: Annotated[str | None, typer.Option(help="The pool in which their memories count as proven.")] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take back what was said of them.")] = False,
    as_json: Json = False,
) -> None:
    """Trust a submitter: their memories are shown as proven ones, whatever grades say of them.

    Example: memshare retriever trust ada --pool logic
    """
    with connected(load_settings()) as client:
        if submitter is not None:
            if pool is None:
                raise BadInput("Name the pool with --pool: a submitter is trusted in one pool at a time.")
            known = decided(client).get(pool, {})
            if undo and submitter not in known:
                raise BadInput(f"Nobody has said anything of {submitter!r} in the pool {pool!r}.")
            decide(client, pool, submitter, None if undo else Trust(said="trust", by=login_name(), at=time.time()))
            note("trust", pool=pool, submitter=submitter, said="undecided" if undo else "trust")
        found = {name: said for name, said in decided(client).items() if pool in (None, name)}
    if as_json:
        print_json({name: {who: one.model_dump() for who, one in said.items()} for name, said in found.items()})
    elif submitter is not None:
        done = "has to prove themselves" if undo else "is trusted"
        console.print(styled((submitter, "bold"), f" {done} in pool {pool}, from the next task on."))
    else:
        for name, said in sorted(found.items()):
            for who, one in sorted(said.items()):
                word = "trusted" if one.said == "trust" else "left unproven"
                console.print(styled(f"{name}: ", (who, "bold"), f" {word} by {one.by}"))
        if not found:
            console.print("Nobody is trusted by hand.")


def _back_to_version(pool: str, to: int | None, *, as_json: bool) -> None:
    with operating(alone=True) as (backend, caller):
        done = retrievers.rollback(backend, caller, pool, to)
    if as_json:
        print_reply(done)
        return
    now = f"version {done.version}" if done.version else "version 0, the untrained one,"
    console.print(
        f"The retriever of pool {pool} has {now} in use, before: {done.before}. Set aside from after it:"
        f" {counted(done.set_aside, 'lesson')}; brought back: {done.brought_back}. Agents use it from their next"
        " task on.",
    )


def _require_known(settings: Settings, pool: str) -> None:
    with closing(Client(settings)) as client:
        known = {card.pool for card in client.agents().values()}
    if pool not in known:
        raise BadInput(f"No pool is called {pool!r}. There are: {', '.join(sorted(known))}.")
