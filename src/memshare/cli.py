"""The command line: `memshare --help`."""

from __future__ import annotations

import os
import sys

import typer
from rich.markup import escape

from memshare.broker.errors import BadInput, MemshareError
from memshare.commands import (
    agents,
    budget,
    dead,
    demo,
    evaluate,
    know,
    learn,
    memories,
    metrics,
    report,
    retriever,
    rubric,
    submit,
    trace,
    up,
    worker,
)
from memshare.console import errors

app = typer.Typer(
    help="Agents that answer tasks from queues and share what worked.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
for command in (
    demo.demo,
    up.up,
    worker.worker,
    submit.submit,
    learn.learn,
    learn.seed,
    trace.result,
    trace.trace,
    agents.agents,
    metrics.metrics,
):
    app.command()(command)
app.command("evaluate")(evaluate.run)
app.command()(report.report)
app.add_typer(memories.app, name="memories")
app.add_typer(know.app, name="know")
app.add_typer(retriever.app, name="retriever")
app.add_typer(dead.app, name="dead")
app.add_typer(rubric.app, name="rubric")
app.add_typer(budget.app, name="budget")


def main() -> None:
    """Run a command; what a person can mend is one line on stderr: exit code 2 for bad input, else 1."""
    try:
        app()
    except MemshareError as error:
        errors.print(f"[bold red]memshare:[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        sys.exit(2 if isinstance(error, BadInput) else 1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
