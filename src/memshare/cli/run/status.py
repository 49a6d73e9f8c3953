"""`memshare agents` and `status`: who can be asked, and what runs, waits and fails now."""

from __future__ import annotations

from memshare.cli.operating import operating, print_reply
from memshare.cli.options import Json
from memshare.operations import listings
from memshare.terminal.console import console, styled, table, until
from memshare.terminal.ids import counted
from memshare_broker.app import MEMORY_QUEUE


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


def status(as_json: Json = False) -> None:
    """Show models, workers, queues with what waits in them and why, and how much was accepted and given up.

    Example: memshare status
    """
    with operating() as (backend, caller):
        found = listings.status(backend, caller)
    if as_json:
        print_reply(found)
        return
    workers = [(one.name, ", ".join(one.queues), ", ".join(one.models) or "–") for one in found.workers]
    console.print(table("worker", "serves", "models", rows=workers) if workers else "No worker is there.")
    if found.workers and not any(MEMORY_QUEUE in one.queues for one in found.workers):
        console.print("Tasks wait for the memory service, which is not there.", style="yellow")
    oldest = {
        one.name: f"{one.oldest:.0f} s" if one.oldest else "set aside" if one.open else "–" for one in found.queues
    }
    queues = [(one.name, one.open, one.a_minute, oldest[one.name], one.workers or "none") for one in found.queues]
    if queues:
        console.print(table("queue", "open", "a minute", "oldest", "workers", rows=queues))
    for queue in found.queues:
        if queue.open and not queue.workers:
            console.print(styled((f"{queue.name} waits", "yellow"), f" {queue.open:,}: no worker serves this queue."))
        for one in queue.waiting:
            waits = f" {one.messages} {until(one.until)}: {one.why}"
            console.print(styled((f"{queue.name} waits", "yellow"), waits))
    for said in (*found.failing, *found.busy, *found.doubts):
        console.print(said, style="yellow")
    console.print(f"{found.accepted:,} of {counted(found.graded, 'graded answer', 'graded answers')} accepted.")
    if found.dead_letters:
        letters = counted(found.dead_letters, "dead letter", "dead letters")
        console.print(styled((letters, "red"), ": `memshare dead list` shows them."))
