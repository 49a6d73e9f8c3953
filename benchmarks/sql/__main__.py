"""Do agents get better together? `python -m benchmarks.sql`: questions to a database, whose answers a program checks.

A student that knows no SQL copies what it is shown, so whatever is right comes from a memory, and the share of right
answers says what was recalled and in which order. Everything else is real: `memshare up` with default settings.
Figures are medians over the orders. Questions of `train` become memories and the stream, those of `test` are the
unseen ones, and those of `dev` take no part: they are for tuning. The aims are those for Advising (Finegan-Dollak et
al., ACL 2018).
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.report import Aim, print_figures
from benchmarks.sql.experiments import EXPERIMENTS, SETTINGS
from benchmarks.sql.world import AGENT, SHARERS, world
from benchmarks.support.orders import ORDERS, Figures, middle, teller
from benchmarks.support.up import deployed
from memshare.demo.text_to_sql import read_questions
from memshare.terminal.console import errors

# Those that share: each with its own pool, and with one for all.
POOLS = {"encoder": "encoder"} | {
    f"{how}{number}": f"private{number}" if how == "private" else "shared"
    for how in ("private", "shared")
    for number in range(SHARERS)
}
AIMS = (
    Aim("gap_online", 0.15, "of the way from the encoder to what is possible"),
    Aim("gap_consolidated", 0.6, "of the way from the encoder to what is possible"),
    Aim("gap_stream", 0.5, "of the way from the encoder to what is possible"),
    Aim("stream_gain", 0.12, "of the questions"),
    Aim("shared_to_private", 2.0, "times as many right"),
    Aim("poison_gain", 1.25, "times as many right"),
    Aim("poison_shown_after", 0.04, "of the places shown", at_most=True),
    Aim("active_share", 0.9, "of the memories"),
)


def main(
    data: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Questions in the format of text2sql-data.")
    ] = None,
    experiment: Annotated[list[str] | None, typer.Option(help=f"Of {', '.join(EXPERIMENTS)}. [default: all]")] = None,
    order: Annotated[int | None, typer.Option(help="One order alone. [default: three]")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document in place of tables.")] = False,
) -> None:
    """Measure, and print the medians over the orders."""
    names = experiment or list(EXPERIMENTS)
    if unknown := sorted(set(names) - set(EXPERIMENTS)):
        raise typer.BadParameter(f"No experiment is called {unknown[0]!r}. There are: {', '.join(EXPERIMENTS)}.")
    notes = [_settings_note(name) for name in names if name in SETTINGS]
    for note in notes:
        errors.print(note)
    questions = read_questions(data)
    file = [str(data.absolute())] if data else []
    orders = ORDERS if order is None else (order,)
    runs = []
    with tempfile.TemporaryDirectory(prefix="memshare-exports-") as exports:
        for number in orders:
            figures: Figures = {}
            for name in names:
                started = time.monotonic()
                say = teller(f"order {number}, {name}")
                say("starting")
                with deployed(AGENT, *file, exports=Path(exports), pools=POOLS, **SETTINGS.get(name, {})) as deployment:
                    figures |= EXPERIMENTS[name](deployment, world(questions, number), say)
                figures[f"{name}_seconds"] = time.monotonic() - started
                say("done")
            runs.append(_with_gains(figures))
    figures = {"questions": questions.name, "orders": len(runs), **middle(runs)}
    if as_json:
        figures["runs"] = runs
        figures["settings"] = {name: SETTINGS[name] for name in names if name in SETTINGS}
    print_figures("Text to SQL, with default settings", figures, as_json=as_json, notes=notes, aims=AIMS)


def _with_gains(figures: Figures) -> Figures:
    """With the figures that compare two others, where both were measured."""
    gains: dict[str, Callable[[], float]] = {
        "stream_gain": lambda: figures["stream_last_100"] - figures["stream_first_100"],
        "shared_to_private": lambda: figures["shared"] / figures["private"],
        "poison_gain": lambda: figures["poison_after"] / figures["poison_before"],
    }
    for name, gain in gains.items():
        try:
            figures[name] = gain()
        except (KeyError, ZeroDivisionError):  # it was not measured, or there is nothing to compare with
            continue
    return figures


def _settings_note(name: str) -> str:
    settings = " ".join(f"{setting}={value}" for setting, value in SETTINGS[name].items())
    return f"{name.capitalize()} is measured with {settings}; all else with the default settings."


if __name__ == "__main__":
    typer.run(main)
