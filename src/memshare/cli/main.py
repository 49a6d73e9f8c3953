"""The command line, `memshare --help`: the list of commands, each imported when it is called, not for the help."""

from __future__ import annotations

import _thread
import ast
import errno
import gc
import logging
import os
import signal
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from memshare.extras import needs_extra, require
from memshare_broker.errors import BadInput, MemshareError, stops_of
from memshare_broker.observe.safe_text import replace_what_is_missing
from memshare_broker.private_files import PRIVATE
from memshare_broker.wire.same_text import refuse_half_characters


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
        "agents": CommandPlace("run.status:agents"),
    },
    "Ask": {
        "submit": CommandPlace("ask.submit:submit"),
        "result": CommandPlace("ask.trace:result"),
        "trace": CommandPlace("ask.trace:trace"),
        "cancel": CommandPlace("ask.trace:cancel"),
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
                choices = getattr(parameter, "type_descriptor", None) and parameter.type_descriptor.choices
                if choices and parameter.param_type_name == "option":
                    parameter.metavar = f"<{' | '.join(map(str, choices))}>"  # a line may end between two
        return name, found, rest


app = typer.Typer(
    cls=LazyCommands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"memshare {version('memshare')}")
        raise typer.Exit


def _use_config(file: Path | None) -> None:
    if file is not None:
        os.environ["MEMSHARE_CONFIG"] = str(file.absolute())


@app.callback()
def memshare(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(
            callback=_use_config,
            help=r"File of settings. \[default: MEMSHARE_CONFIG, or memshare.toml in MEMSHARE_DATA]",
        ),
    ] = None,
) -> None:
    """Agents that answer tasks from queues and share what worked."""


def main() -> None:
    """Run a command; one that Ctrl-C ends, wherever that finds it, says so in a sentence, with exit code 130."""
    sys.unraisablehook = _stop_again
    try:
        _run()
    except BaseException as error:
        if not (stops := stops_of(error)):
            raise
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # once more ends it at once
        if said := next((one.args[0] for one in reversed(stops) if one.args), ""):
            from memshare.terminal.console import errors

            errors.print(f"\n{said}")
        else:  # perhaps a module was half loaded: what needs it cannot be loaded any more
            print("\nStopped.", file=sys.stderr)
        sys.exit(130)


def _stop_again(swallowed: sys.UnraisableHookArgs) -> None:
    """Have Ctrl-C come once more where Python swallows it, as in a `__del__`; the command would go on."""
    if swallowed.exc_type is KeyboardInterrupt:
        again = threading.Timer(0.05, _thread.interrupt_main)
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(swallowed)


def _run() -> None:
    """Run a command; what a person can mend is one line on stderr: exit code 2 for bad input, else 1."""
    os.umask(PRIVATE)  # prompts and answers are private, also those that are exported
    _open_what_is_closed()
    replace_what_is_missing(sys.stdout, sys.stderr)
    try:
        for number, word in enumerate(sys.argv[1:], 1):
            refuse_half_characters(word, f"Argument {number}")
        try:
            app()
        finally:
            sys.stdout.flush()  # while a fault can still be told
    except MemshareError as error:
        _fail(error)
    except ImportError as error:
        if (needed := needs_extra(" ".join(["memshare", *sys.argv[1:2]]), error)) is None:
            raise
        _fail(needed)
    except BrokenPipeError:
        _drop_output()
        sys.exit(1)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _drop_output()
        _fail(MemshareError(f"There is no room for what is written: {error.strerror}."))


def _open_what_is_closed() -> None:
    """Read nothing and write nowhere in place of an input or output that was closed by who started this."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(error: MemshareError) -> None:
    from memshare.terminal.console import errors, styled
    from memshare_broker.observe.logs import is_json

    if is_json():
        logging.getLogger("memshare").error("%s", error)
    else:
        errors.print(styled(("memshare:", "bold red"), f" {error}"))
    sys.exit(2 if isinstance(error, BadInput) else 1)
