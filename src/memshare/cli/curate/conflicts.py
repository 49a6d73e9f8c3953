"""`memshare memories conflicts`: which memories contradict each other, and what a person says of it."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.panel import Panel
from rich.table import Table

from memshare.cli.options import Json
from memshare.client.client import Client
from memshare.terminal.console import console, panel, print_json, short, styled
from memshare.terminal.memory_ids import find_memory, short_id
from memshare.terminal.memory_pages import as_json as json_of
from memshare.terminal.memory_pages import credibility_of, require_pool
from memshare_broker.errors import BadInput
from memshare_memory.curate.requests import ConflictDecision
from memshare_memory.door.messages import JudgedMemory

Two = tuple[str, str]
LONGEST = 600  # characters of a prompt or an answer that are shown


def conflicts(
    pool: Annotated[str | None, typer.Option(help="Only this pool.")] = None,
    confirm: Annotated[
        Two | None, typer.Option(metavar="ID ID", help="These two contradict each other: show only one of them.")
    ] = None,
    dismiss: Annotated[
        Two | None, typer.Option(metavar="ID ID", help="These two do not contradict each other.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List memories that cannot both be true, as a model found; agents are shown the more credible one first.

    Once credibility has told them apart, or a person has confirmed it, they are shown that one alone.

    Example: memshare memories conflicts --pool reasoning

    Example: memshare memories conflicts --confirm 1c6fa3b2 9d105e57
    """
    client = Client()
    if confirm or dismiss:
        _decide(client, confirm, dismiss, as_json=as_json)
        return
    require_pool(client, pool)
    pools = [pool] if pool else sorted(client.memories.stats().by_pool)
    found = [conflict for one in pools for conflict in client.memories.conflicts(one)]
    known = {one.memory.id: one for one in client.memories.judge([each for one in found for each in one.memories])}
    found = [one for one in found if known.keys() >= set(one.memories)]
    if as_json:
        print_json(
            [{"memories": [json_of(known[each]) for each in one.memories], "claims": one.claims} for one in found]
        )
        return
    for one in found:
        first, second = sorted((known[each] for each in one.memories), key=lambda each: -each.credibility.p)
        console.print(_side_by_side(first, second))
        if one.claims:
            console.print(styled(("claims: ", "dim"), one.claims))
        console.print()
    if not found:
        console.print("No two memories contradict.")


def _side_by_side(*memories: JudgedMemory) -> Table:
    sides = Table.grid(expand=True, padding=(0, 1))
    for _ in memories:
        sides.add_column(ratio=1, overflow="fold")
    sides.add_row(*(_panel(one) for one in memories))
    return sides


def _panel(one: JudgedMemory) -> Panel:
    memory, shown = one.memory, one.credibility.credits
    asked = (f"{short(memory.prompt, LONGEST)}\n", "bold") if memory.prompt else ""
    title = f"{short_id(memory.id)} · credibility {credibility_of(one)} · shown to {shown} graded tasks"
    return panel(styled(asked, short(memory.answer, LONGEST)), title)


def _decide(client: Client, confirm: Two | None, dismiss: Two | None, *, as_json: bool) -> None:
    if confirm and dismiss:
        raise BadInput("Give --confirm or --dismiss, not both.")
    typed = confirm or dismiss
    assert typed is not None
    one, other = (find_memory(client, each) for each in typed)
    client.memories.decide(ConflictDecision(memories=(one, other), contradict=confirm is not None))
    if as_json:
        print_json({"memories": [str(one), str(other)], "contradict": confirm is not None})
        return
    verdict = "contradict each other" if confirm else "do not contradict each other"
    console.print(styled((f"{short_id(one)} and {short_id(other)} {verdict}.", "bold")))
