"""`memshare retriever status`, as people see it."""

from __future__ import annotations

import time

from rich.table import Table

from memshare.chart import Point, chart
from memshare.console import console, styled, table
from memshare.memory_service.recall.feedback import FeedbackInUse
from memshare.retriever_trainer.status import PoolStatus, Status
from memshare.retriever_trainer.update import Update

WIDEST = 100  # characters of a chart
VERSIONS_SHOWN, REASONS_SHOWN = 10, 5
LITTLE = 100  # memories of a pool, before which nothing is to be seen of what was learnt


def print_status(status: Status, *, in_detail: bool) -> None:
    """All pools with their charts; in detail with their versions, and why lessons came to nothing."""
    before = f", before it {status.encoder_before}" if status.encoder_before else ""
    console.print(f"Encoder {status.encoder}{before}")
    for name, pool in status.pools.items():
        console.print()
        _print_pool(name, pool)
        if in_detail:
            _print_versions(pool)
            _print_reasons(pool)
    if not in_detail:
        console.print(
            "\n`memshare retriever status --pool P` shows a pool's versions, and why updates failed.", style="dim"
        )


def _print_pool(name: str, pool: PoolStatus) -> None:
    in_use = f"version {pool.version} in use" if pool.version else "no version yet"
    last = f" · last lesson {_when(pool.updates[-1])}" if pool.updates else ""
    console.print(styled((name, "bold"), f" · {in_use}{last}"))
    if pool.fault:
        console.print(
            styled(
                (f"No agent can use version {pool.version}: {pool.fault}.", "red"),
                " They stay with the one from before it.",
                f" Go back: memshare retriever rollback --pool {name}",
            )
        )
    facts = Table.grid(padding=(0, 3))
    facts.add_row("held-out accuracy", _held_out(pool))
    facts.add_row("lessons", _counts(pool))
    facts.add_row("labels", " · ".join(f"{count} by {way}" for way, count in sorted(pool.labelled_by.items())) or "–")
    if pool.lesson_share < 1:
        facts.add_row("thinned out", f"lessons bring little: {pool.lesson_share:.0%} of the usual number are learnt")
    if pool.feedback:
        facts.add_row("feedback", _feedback(pool.feedback))
    console.print(facts)
    if pool.lessons.counted < LITTLE:
        console.print(f"Nothing is to be expected before about {LITTLE} memories of a pool.", style="dim")
    points = _points(pool)
    if len(points) > 1:
        console.print("\nHeld-out accuracy over lessons, on those held out by then:", style="dim")
        console.print(chart(points, min(console.width, WIDEST)))


def _held_out(pool: PoolStatus) -> str:
    found = pool.held_out_accuracy
    if not found.lessons:
        return "– (no lesson is held out yet)"
    learnt = f" → {_figure(found.in_use)} with version {pool.version}" if pool.version else ""
    return f"{_figure(found.untrained)} by the encoder alone{learnt}, on {found.lessons} lessons never trained on"


def _feedback(fed: FeedbackInUse) -> str:
    if fed.way == "off":
        return "off, as somebody wanted; `memshare retriever feedback --pool P` decides again"
    figures = f"{_figure(fed.before)} → {_figure(fed.after)} on {fed.lessons} held-out lessons"
    return f"{fed.way} of the first hits: {figures} at version {fed.version}"


def _counts(pool: PoolStatus) -> str:
    lessons = pool.lessons
    carried = f" · {lessons.carried_over} carried over from the encoder before" if lessons.carried_over else ""
    return (
        f"{lessons.learnt} learnt · {lessons.held_out} held out · {lessons.refused} refused"
        f" · {lessons.no_update} without an update{carried}"
    )


def _points(pool: PoolStatus) -> list[Point]:
    return [
        Point(one.counted, one.lesson.accuracy_after, one.lesson.refused)
        for one in pool.updates
        if one.lesson.accuracy_after is not None
    ]


def _print_versions(pool: PoolStatus) -> None:
    if not pool.versions:
        return
    shown = pool.versions[-VERSIONS_SHOWN:]
    rows = [
        (
            styled((str(one.version), "bold"), " in use") if one.version == pool.version else one.version,
            one.lessons,
            _figure(one.accuracy_before),
            _figure(one.accuracy_after),
        )
        for one in shown
    ]
    console.print()
    console.print(table("version", "lessons", "accuracy before", "after", rows=rows))
    older = len(pool.versions) - len(shown)
    if older:
        console.print(f"{older} older ones are kept; --json lists them.", style="dim")


def _print_reasons(pool: PoolStatus) -> None:
    failed = [one for one in pool.updates if one.lesson.refused or one.lesson.outcome == "no update"]
    if failed:
        rows = [
            (
                _when(one),
                "refused" if one.lesson.refused else one.lesson.outcome,
                one.lesson.reason.removeprefix("refused: "),
            )
            for one in failed[-REASONS_SHOWN:]
        ]
        console.print()
        console.print(table("when", "lesson", "why", rows=rows))


def _figure(accuracy: float | None) -> str:
    return "–" if accuracy is None else f"{accuracy:.3f}"


def _when(update: Update) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(update.at))
