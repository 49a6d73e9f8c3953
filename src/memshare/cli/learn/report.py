"""`memshare report`: all experiments of a folder on one page."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from memshare.cli.options import Json
from memshare.terminal.console import console, errors, print_json
from memshare_broker.errors import MemshareError


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What `memshare evaluate --out` wrote to.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The page to write. [default: FOLDER/report.html]")
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    as_json: Json = False,
) -> None:
    """Make one HTML page of all experiments, with charts and examples, that can be read offline.

    Example: memshare report evaluation --open
    """
    from memshare.evaluation.report import write_report  # matplotlib and scipy take seconds to import

    written = write_report(folder, out or folder / "report.html")
    if as_json:
        print_json(written.model_dump(mode="json"))
    else:
        console.print(f"Written to {written.file}: {', '.join(written.experiments)}.", soft_wrap=True)
        for what, names in (("Not finished", written.unfinished), ("Not begun", written.not_begun)):
            if names:
                errors.print(f"{what}: {', '.join(names)}.", soft_wrap=True)
    if show and not webbrowser.open(Path(written.file).resolve().as_uri()):
        raise MemshareError(f"No browser was found to open {written.file} with.")
