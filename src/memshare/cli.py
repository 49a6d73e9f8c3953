"""The command line: `memshare --help`."""

from __future__ import annotations

import os
import sys

import typer

from memshare.broker.errors import BadInput, MemshareError
from memshare.broker.private_files import PRIVATE
from memshare.broker.wire.whole_characters import refuse_half_characters
from memshare.extras import needs_extra
from memshare.lazy_commands import LazyCommands

app = typer.Typer(
    cls=LazyCommands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


@app.callback()
def memshare() -> None:
    """Agents that answer tasks from queues and share what worked."""


def main() -> None:
    """Run a command; what a person can mend is one line on stderr: exit code 2 for bad input, else 1."""
    os.umask(PRIVATE)  # prompts and answers are private, also those that are exported
    try:
        for number, word in enumerate(sys.argv[1:], 1):
            refuse_half_characters(word, f"Argument {number}")
        app()
    except MemshareError as error:
        _fail(error)
    except ImportError as error:
        if (needed := needs_extra(" ".join(["memshare", *sys.argv[1:2]]), error)) is None:
            raise
        _fail(needed)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def _fail(error: MemshareError) -> None:
    from memshare.console import errors, styled

    errors.print(styled(("memshare:", "bold red"), f" {error}"), soft_wrap=True)
    sys.exit(2 if isinstance(error, BadInput) else 1)
