"""`memshare agents`: who can be asked."""

from __future__ import annotations

from memshare.cli.options import Json
from memshare.client.client import Client
from memshare.terminal.console import console, print_json, styled, table


def agents(as_json: Json = False) -> None:
    """List the agents, their kinds of tasks, and how many workers serve each.

    Example: memshare agents
    """
    client = Client()
    workers = client.workers()
    served = {name: sum(name in worker.queues for worker in workers) for name in client.agents()}
    cards = client.agents()
    if as_json:
        print_json([card.model_dump() | {"workers": served[name]} for name, card in sorted(cards.items())])
        return
    rows = [
        (name, ", ".join(card.kinds) or "–", card.pool, card.model, served[name] or styled(("none", "yellow")))
        for name, card in sorted(cards.items())
    ]
    console.print(table("agent", "kinds", "pool", "model", "workers", rows=rows))
