"""`memshare worker`: run a worker for some queues."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import Annotated

import typer

from memshare.cli.options import Json
from memshare.extras import require
from memshare.terminal.console import console, print_json, styled
from memshare_broker.app import MEMORY_QUEUE, TRAINER_QUEUE
from memshare_broker.errors import BadInput
from memshare_broker.settings import load_settings

EXTRAS = {MEMORY_QUEUE: "memory-exported", TRAINER_QUEUE: "trainer"}
"""Queue → the extra that serving it needs, where that is not `agents`."""

FEW = 2
"""Tasks at a time of a worker of the memory queue alone: settling computes, and recall, for which agents wait, shares
its interpreter lock. Measured with two processors: .83 of the ideal rate of journeys with 2, .70 with 32."""


def require_for(queues: Sequence[str]) -> None:
    """Raise `NeedsExtra` unless what serves these queues is installed."""
    for queue in queues:
        require(f"memshare worker {queue}", EXTRAS.get(queue, "agents"))


def worker(
    queues: Annotated[list[str] | None, typer.Argument(help="Queues to serve, such as poem scorer memory.")] = None,
    serve_all: Annotated[bool, typer.Option("--all", help="Serve every queue.")] = False,
    concurrency: Annotated[
        int | None, typer.Option(min=1, max=500, help="Tasks at a time. [default: MEMSHARE_CONCURRENCY; memory: 2]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a worker until it is told to end (Ctrl-C or SIGTERM lets running tasks finish).

    Example: memshare worker poem logic --concurrency 32
    """
    from memshare.worker import app, parts
    from memshare_broker.worker import run_worker

    settings = load_settings()
    known = [queue for part in parts for queue in part.queues(settings)]
    wanted = known if serve_all else list(dict.fromkeys(queues or []))
    if not wanted:
        raise BadInput(f"Name the queues to serve, or --all. There are: {', '.join(known)}.")
    for queue in wanted:
        if queue not in known:
            raise BadInput(f"No queue is called {queue!r}. There are: {', '.join(known)}.")
    require_for(wanted)
    from memshare.operate.preflight import check  # needs what was just required

    check(settings, wanted)
    if concurrency is None and wanted == [MEMORY_QUEUE]:
        concurrency = FEW
    label = "all" if serve_all else "-".join(wanted)[:40]
    node = f"{label}-{os.getpid()}"

    is_json = as_json or settings.log_format == "json"
    out = sys.stdout  # in whose place Celery puts its log

    def tell() -> None:
        with redirect_stdout(out):
            if is_json:
                print_json({"node": node, "queues": wanted, "pid": os.getpid()})
            else:
                console.print(styled("Serves ", (", ".join(wanted), "bold"), f" as {node}. Ctrl-C ends it."))
            out.flush()

    raise typer.Exit(run_worker(app, wanted, node, concurrency, tell, quiet=is_json))
