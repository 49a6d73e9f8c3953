"""`memshare agents`: who can be asked."""

from __future__ import annotations

from memshare.cli.operating import operating, print_reply
from memshare.cli.options import Json
from memshare.operations import listings
from memshare.terminal.console import console, styled, table


def agents(as_json: Json = False) -> None:
    """List the agents, their kinds of tasks, and how many workers serve each.

    Example: memshare agents
    """
    with operating() as (backend, caller):
        found = listings.agents(backend, caller)
    if as_json:
        print_reply(found)
        return
    rows = [
        (one.name, ", ".join(one.kinds) or "–", one.pool, one.model, one.workers or styled(("none", "yellow")))
        for one in found
    ]
    console.print(table("agent", "kinds", "pool", "model", "workers", rows=rows))
