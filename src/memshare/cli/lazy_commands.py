"""The list of commands. A command's module is imported when the command is called, and not to list it in the help."""

from __future__ import annotations

import ast
import gc
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from memshare.extras import require


class CommandPlace(NamedTuple):
    """Where a command is, as `module:name` of a function or `typer.Typer`, and the extra that it needs."""

    target: str
    extra: str | None = None

    @property
    def help(self) -> str:
        """Its line in the help: the first paragraph of its docstring, or the `help=` of its `typer.Typer`."""
        module, _, name = self.target.partition(":")
        tree = ast.parse((Path(__file__).parent / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8"))
        for node in tree.body:
            match node:
                case ast.FunctionDef(name=found) if found == name:
                    return " ".join((ast.get_docstring(node) or "").partition("\n\n")[0].split())
                case ast.Assign(targets=[ast.Name(id=found)], value=ast.Call(keywords=keywords)) if found == name:
                    return str(next(ast.literal_eval(one.value) for one in keywords if one.arg == "help"))
        raise LookupError(f"{module} has no command {name!r}.")


GROUPS = {
    "Begin": {
        "demo": CommandPlace("begin.demo:demo", "local"),
        "up": CommandPlace("begin.up:up", "local"),
        "learn": CommandPlace("begin.learn:learn"),
        "seed": CommandPlace("begin.learn:seed"),
        "agents": CommandPlace("begin.agents:agents"),
    },
    "Ask": {
        "submit": CommandPlace("ask.submit:submit"),
        "result": CommandPlace("ask.trace:result"),
        "trace": CommandPlace("ask.trace:trace"),
        "cancel": CommandPlace("ask.cancel:cancel"),
        "answer": CommandPlace("ask.answer:answer", "concepts"),
    },
    "Curate": {
        "memories": CommandPlace("curate.memories:app"),
        "rubric": CommandPlace("curate.rubric:app"),
        "concepts": CommandPlace("concepts.group:app"),
        "review": CommandPlace("curate.review:review", "concepts"),
    },
    "Learn": {
        "retriever": CommandPlace("learn.retriever:app", "trainer"),
        "evaluate": CommandPlace("learn.evaluate:run", "evaluate"),
        "report": CommandPlace("learn.evaluate:report", "evaluate"),
    },
    "Run": {
        "worker": CommandPlace("run.worker:worker"),
        "status": CommandPlace("run.status:status"),
        "serve": CommandPlace("run.serve:serve", "serve"),
        "mcp": CommandPlace("run.serve:mcp", "serve"),
        "token": CommandPlace("run.token:app"),
        "metrics": CommandPlace("run.metrics:metrics", "metrics"),
        "budget": CommandPlace("run.budget:app"),
        "dead": CommandPlace("run.dead:app"),
        "backup": CommandPlace("run.backup:backup"),
        "restore": CommandPlace("run.backup:restore", "memory-exported"),
    },
}
"""The commands under the headings of the help."""

COMMANDS = {name: command for commands in GROUPS.values() for name, command in commands.items()}


def load(name: str, *, for_help: bool = False) -> Any:
    """Import a command and make it what Typer runs; for its help one that tells no options will do, where it must."""
    command = COMMANDS[name]
    module, _, attribute = command.target.partition(":")
    gc.disable()  # what is imported stays: to look through it for garbage again and again is a fifth of the time
    try:
        found = getattr(import_module(f"memshare.cli.{module}"), attribute)
    except ImportError:
        if command.extra and for_help:
            more = f"Its options are told where its packages are: those of the extra {command.extra!r}."
            return TyperCommand(name, help=f"{command.help}\n\n{more}")
        if command.extra:
            require(f"memshare {name}", command.extra)
        raise
    finally:
        gc.freeze()
        gc.enable()
    app = typer.Typer(name=name, add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)
    if isinstance(found, typer.Typer):
        app.info.help, app.info.no_args_is_help = found.info.help, True
        app.registered_commands = found.registered_commands
    else:
        app.command(name)(found)
    return typer.main.get_command(app)


class LazyCommands(TyperGroup):
    """Lists every command by the first sentence of its docstring, and imports the one that is called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name in COMMANDS:
            self.add_command(TyperCommand(name))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The help, with a line for each command."""
        for group, commands in GROUPS.items():
            for name, command in commands.items():
                self.add_command(TyperCommand(name, help=command.help, rich_help_panel=group))
        super().format_help(ctx, formatter)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called, imported; its help is shown without the packages that it needs to run."""
        name, listed, rest = super().resolve_command(ctx, args)
        if name is None or listed is None:
            return name, listed, rest
        extra = COMMANDS[name].extra
        if extra and "--help" not in rest:
            require(f"memshare {name}", extra)
        found = load(name, for_help="--help" in rest)
        for one in (found, *getattr(found, "commands", {}).values()):
            for parameter in one.params:  # rich takes it for a style, and says nothing
                parameter.help = parameter.help and parameter.help.replace("[default", r"\[default")
        return name, found, rest
