"""`memshare cancel`: cancel unfinished tasks."""

from __future__ import annotations

from typing import Annotated

import typer

from memshare.cli.operating import operating, print_reply
from memshare.cli.options import Json
from memshare.client.errors import NotFound
from memshare.client.rest.calls.journeys import Cancelled
from memshare.operations import journeys
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller
from memshare.terminal.console import console, errors
from memshare.terminal.ids import find_task

SAID = {
    "cancelled": "Cancelled {id}.",
    "running": "Cancelled {id}: a worker is at it, and goes on until this step is done; nothing follows it.",
    "ended": "Not cancelled: {id} had ended already. `memshare trace {id}` shows how.",
    "unknown": "Not cancelled: no task has the id {id}. Ids are those that `memshare submit` prints; what has ended is "
    "known for some days only (MEMSHARE_KEEP_DAYS).",
}


def cancel(
    task_ids: Annotated[
        list[str], typer.Argument(metavar="ID…", help="Ids that `submit` printed, or the first 8 digits of each.")
    ],
    as_json: Json = False,
) -> None:
    """Cancel unfinished tasks: they are not started, or not graded and not remembered.

    Ends with status 1 when one of them could not be cancelled.

    Example: memshare cancel 1c6fa3b2 93abd01e
    """
    with operating() as (backend, caller):
        wanted = [find_task(backend.client, typed) for typed in task_ids]
        found = [_cancelled(backend, caller, one) for one in wanted]
    if as_json:
        print_reply(found)
    else:
        for one in found:
            shown = console if one.outcome in ("cancelled", "running") else errors
            shown.print(SAID[one.outcome].format(id=one.id))
    if any(one.outcome in ("ended", "unknown") for one in found):
        raise typer.Exit(1)


def _cancelled(backend: Backend, caller: Caller, task_id: str) -> Cancelled:
    try:
        return journeys.cancel(backend, caller, task_id)
    except NotFound:
        return Cancelled(id=task_id, outcome="unknown")
