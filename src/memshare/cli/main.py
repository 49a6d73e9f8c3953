"""The command line: `memshare --help`."""

from __future__ import annotations

import errno
import logging
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from memshare.cli.lazy_commands import LazyCommands
from memshare.extras import needs_extra
from memshare_broker.errors import BadInput, MemshareError
from memshare_broker.observe.safe_text import replace_what_is_missing
from memshare_broker.private_files import PRIVATE
from memshare_broker.wire.same_text import refuse_half_characters

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
    except KeyboardInterrupt:
        sys.exit(130)


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
