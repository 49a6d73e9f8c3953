"""`memshare retriever status`, as people see it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from memshare.terminal.console import console, styled, table
from memshare.terminal.ids import counted
from memshare_trainer.consolidation.consolidation_state import Trial
from memshare_trainer.lesson import Update
from memshare_trainer.lesson_log import FIRST_VERSION
from memshare_trainer.status import ConsolidationStatus, PoolStatus, Status

MOST_SUBMITTERS = 6  # in the table; JSON has all
BARS = "▁▂▃▄▅▆▇█"
WIDEST = 80  # bars of a chart
VERSIONS_SHOWN, REASONS_SHOWN = 10, 5
ERRORS = "± is one standard error: of a difference (→), a worth or a mean. Two of them reach 95 %."


def print_status(status: Status, *, in_detail: bool) -> None:
    """All pools with their charts; in detail with their versions, and why lessons came to nothing."""
    before = f", before it {status.encoder_before}" if status.encoder_before else ""
    console.print(f"Encoder {status.encoder}{before}")
    console.print(_consolidation(status.consolidation))
    for name, pool in status.pools.items():
        console.print()
        _print_pool(name, pool)
        if in_detail:
            _print_versions(pool)
            _print_reasons(pool)
    console.print(f"\n{ERRORS}", style="dim")
    if not in_detail:
        console.print(
            "`memshare retriever status --pool P` shows a pool's versions, and why updates failed.", style="dim"
        )


def _consolidation(state: ConsolidationStatus) -> str:
    if state.since is not None:
        return f"Consolidating since {_at(state.since)}"
    last = f"Consolidation: {state.outcome} {_at(state.at)}. {state.reason} " if state.outcome and state.at else ""
    if state.trial:
        last += _tried(state.trial)
    if state.waits_for == "somebody":
        return f"{last}Enough lessons to consolidate ({state.lessons_now}): run `memshare retriever consolidate`"
    now = "now, by itself" if state.waits_for == "the trainer" else f"at {state.next_at} lessons"
    return f"{last}Next consolidation {now} (there are {state.lessons_now})"


def _tried(trial: Trial) -> str:
    first = trial.first_helps
    return (
        f"A trial {_at(trial.at)}: what is ranked first helps {first.before:.2f} → {first.after:.2f}"
        f" ± {first.error:.2f} on {counted(trial.held_out, 'lesson', 'lessons')} held out, after"
        f" {counted(trial.lessons, 'lesson')} and right answers; the encoder would be"
        f" {'accepted' if trial.accepted else 'refused'}. "
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
    does = "is made alike" if {*pool.labelled_by} == {"answers alike"} else "helps"
    facts.add_row(f"first shown {does}", _held_out(pool))
    facts.add_row("lessons", _counts(pool))
    facts.add_row("labels", " · ".join(f"{count} by {way}" for way, count in sorted(pool.labelled_by.items())) or "–")
    facts.add_row("graded answers", f"{pool.evidence} words on what helped")
    facts.add_row("submitters", _submitters(pool))
    for one in pool.numbers:
        facts.add_row(
            "memories shown", f"{one.kind or 'all kinds'}, by {one.model}: {one.best}; see memshare memories stats"
        )
    for row in pool.writers:
        error = "" if row.error is None else f" ± {row.error:.1f}"
        said = f"{row.points:+.1f}{error} points beside what else it follows ({counted(row.tasks, 'answer')})"
        facts.add_row("whose answers help", f"{row.reader} after an answer of {row.writer}: {said}")
    console.print(facts)
    if pool.lessons.counted < FIRST_VERSION:
        console.print(f"There is no version before {FIRST_VERSION} lessons of a pool.", style="dim")
    tested = [one for one in pool.updates if one.lesson.accuracy_after is not None]
    if len(tested) > 1:
        when = f"lesson {tested[0].counted} to {tested[-1].counted}; × refused"
        console.print(f"\nThe same, in what was held out by then ({when}):", style="dim")
        console.print(
            chart([(one.lesson.accuracy_after or 0.0, one.lesson.refused) for one in tested], console.width - 16)
        )


def _submitters(pool: PoolStatus) -> str:
    """The submitters about whom most was said, with their worth."""
    best = sorted(pool.submitters.items(), key=lambda pair: -pair[1].words)[:MOST_SUBMITTERS]
    how = {name: "" if one.proven else " (unproven)" for name, one in best} | dict.fromkeys(pool.trusted, " (trusted)")
    told = [
        f"{name} {round(one.worth, 2) + 0.0:+.2f} ± {one.error:.2f} of {counted(one.words, 'word')}{how[name]}"
        for name, one in best
    ]
    more = len(pool.submitters) - len(best)
    return " · ".join([*told, f"and {more} more" if more else ""]).rstrip(" ·") or "–"


def _held_out(pool: PoolStatus) -> str:
    found = pool.held_out_accuracy
    if found.untrained is None:
        return "– (nothing is held out yet)"
    learnt = f" → {_figure(found.in_use)} ± {_figure(found.error)} with version {pool.version}" if pool.version else ""
    on = f"{counted(found.lessons, 'lesson')} and {counted(found.outcomes, 'outcome')}"
    alike = " (by answers alike: how often its answer is made alike)" if "answers alike" in pool.labelled_by else ""
    return f"{_figure(found.untrained)} by the encoder alone{learnt}, on {on} never trained on{alike}"


def _counts(pool: PoolStatus) -> str:
    lessons = pool.lessons
    carried = f" · {lessons.carried_over} carried over from the encoder before" if lessons.carried_over else ""
    return (
        f"{lessons.learnt} learnt · {lessons.held_out} held out · {lessons.refused} refused"
        f" · {lessons.no_update} without an update{carried}"
    )


def chart(lessons: Sequence[tuple[float, bool]], width: int) -> Text:
    """A bar for each lesson, or for as many as fit. A lesson is its accuracy, and whether its version was refused."""
    room = max(1, min(width, WIDEST, len(lessons)))
    shown = [lessons[(place + 1) * len(lessons) // room - 1] for place in range(room)]
    low, high = min(lessons)[0], max(lessons)[0]
    steps = (len(BARS) - 1) / ((high - low) or 1.0)
    bars = [("×", "red") if refused else (BARS[round((one - low) * steps)], "green") for one, refused in shown]
    return styled((f"{low:.3f} ", "dim"), *bars, (f" {high:.3f}", "dim"))


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
    console.print(table("version", "lessons", "first helps, before", "after", rows=rows))
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
    return _at(update.at)


def _at(moment: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(moment))
