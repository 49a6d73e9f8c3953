"""The list of commands. A command's module is imported when the command is called, and not to list it in the help."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from memshare.extras import require


@dataclass(frozen=True)
class LazyCommand:
    """Where a command is, as `module:name` of a function or of a `typer.Typer`, and its line in the help."""

    target: str
    help: str
    extra: str | None = None
    """The extra without which nothing of it can run."""


GROUPS = {
    "Begin": {
        "demo": LazyCommand(
            "begin.demo:demo",
            "Measure in a minute what a shared pool gives, on questions whose answers a program checks. Needs no key.",
            "local",
        ),
        "up": LazyCommand(
            "begin.up:up",
            "Run Redis, the memory service, all workers, REST and Flower until Ctrl-C. The data stays in its folder.",
            "local",
        ),
        "learn": LazyCommand(
            "begin.learn:learn",
            "Begin a pool with good answers alone: for each its agent is asked for a question that it could answer.",
        ),
        "seed": LazyCommand(
            "begin.learn:seed",
            "Begin a pool with good pairs: each is graded, and becomes a seed where it is good enough.",
        ),
        "agents": LazyCommand(
            "begin.agents:agents", "List the agents, their kinds of tasks, and how many workers serve each."
        ),
    },
    "Ask": {
        "submit": LazyCommand("ask.submit:submit", "Submit a task and print its id, or with --wait its answer."),
        "result": LazyCommand("ask.trace:result", "Print the answer of a task that was submitted earlier."),
        "trace": LazyCommand(
            "ask.trace:trace", "Show the journey of a task: answer, memories shown, score, and what was remembered."
        ),
        "cancel": LazyCommand(
            "ask.cancel:cancel", "Cancel unfinished tasks: they are not started, or not graded and not remembered."
        ),
        "answer": LazyCommand(
            "ask.answer:answer",
            "Answer a question from the memories of a pool, and name the memories that the answer rests on.",
            "concepts",
        ),
    },
    "Curate": {
        "memories": LazyCommand(
            "curate.memories:app", "The shared pool: search, list, add, edit, forget, restore, export, import."
        ),
        "know": LazyCommand(
            "curate.know:app", "Knowledge: statements that agents are shown, and what they have been worth."
        ),
        "rubric": LazyCommand("curate.rubric:app", "Rubrics: how answers are graded, and who approved it."),
        "concepts": LazyCommand(
            "concepts.group:app",
            "Concepts: what the memories of a pool are about, how these subjects are connected, and what is missing.",
        ),
        "review": LazyCommand(
            "curate.review:review",
            "Learn from a pool yourself: you answer, and each memory comes back when you are about to forget it.",
            "concepts",
        ),
    },
    "Learn": {
        "retriever": LazyCommand(
            "learn.retriever:app",
            "The retriever: what it has learnt, going back to an earlier one, training its encoder.",
            "trainer",
        ),
        "evaluate": LazyCommand(
            "learn.evaluate:run",
            "Measure what memories do for the agents: the same tasks under several conditions, graded, with intervals.",
            "evaluate",
        ),
        "report": LazyCommand(
            "learn.report:report",
            "Make one HTML page of all experiments, with charts and examples, that can be read offline.",
            "evaluate",
        ),
    },
    "Run": {
        "worker": LazyCommand(
            "run.worker:worker", "Run a worker until it is told to end (Ctrl-C or SIGTERM lets running tasks finish)."
        ),
        "serve": LazyCommand(
            "run.serve:serve",
            "Serve the page for people, and REST and MCP for other agents, until Ctrl-C.",
            "serve",
        ),
        "mcp": LazyCommand(
            "run.mcp:mcp",
            "Serve the shared memory to a model by MCP on standard input and output, until the input ends.",
            "serve",
        ),
        "token": LazyCommand("run.token:app", "Tokens: who may use `memshare serve`, and for what."),
        "metrics": LazyCommand(
            "run.metrics:metrics",
            "Serve the metrics of all workers of one Redis to Prometheus until Ctrl-C. One for a Redis is enough.",
            "metrics",
        ),
        "budget": LazyCommand("run.budget:app", "Spend caps: what agents and submitters may use in a UTC day."),
        "dead": LazyCommand("run.dead:app", "Dead letters: tasks that were given up, kept until you decide."),
        "backup": LazyCommand(
            "run.backup:backup",
            "Write pool, Redis, retrievers, your agents and rubrics to one file, while everything goes on.",
        ),
        "restore": LazyCommand(
            "run.backup:restore",
            "Restore a backup into an empty deployment that does not run. A file that is not whole changes nothing.",
            "memory",
        ),
    },
}
"""The commands under the headings of the help."""

COMMANDS = {name: command for commands in GROUPS.values() for name, command in commands.items()}


def load(name: str) -> Any:
    """Import a command and make it what Typer runs."""
    command = COMMANDS[name]
    module, _, attribute = command.target.partition(":")
    gc.disable()  # what is imported stays: to look through it for garbage again and again is a fifth of the time
    try:
        found = getattr(import_module(f"memshare.cli.{module}"), attribute)
    except ImportError:
        if command.extra:
            require(f"memshare {name}", command.extra)
        raise
    finally:
        gc.freeze()
        gc.enable()
    if isinstance(found, typer.Typer):
        app = found
        app.info.name = name
    else:
        app = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)
        app.command(name)(found)
    return typer.main.get_command(app)


class LazyCommands(TyperGroup):
    """Lists every command by its line in `COMMANDS`, and imports the one that is called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for group, commands in GROUPS.items():
            for name, command in commands.items():
                self.add_command(TyperCommand(name, help=command.help, rich_help_panel=group))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called, imported; its help is shown without the packages that it needs to run."""
        name, listed, rest = super().resolve_command(ctx, args)
        if name is None or listed is None:
            return name, listed, rest
        extra = COMMANDS[name].extra
        if extra and "--help" not in rest:
            require(f"memshare {name}", extra)
        return name, load(name), rest
