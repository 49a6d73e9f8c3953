"""`memshare memories conflicts`: which memories contradict each other, and what a person says of it."""

from __future__ import annotations

from typing import Annotated

import typer

from memshare.broker.errors import BadInput
from memshare.client import Client
from memshare.commands.options import Json
from memshare.console import console, print_json, short, styled, table
from memshare.memory_ids import find_memory, short_id
from memshare.memory_pages import as_json as json_of
from memshare.memory_pages import credibility_of, require_pool
from memshare.memory_service.curate.requests import ConflictDecision

Two = tuple[str, str]


def conflicts(
    pool: Annotated[str | None, typer.Option(help="Only this pool.")] = None,
    confirm: Annotated[
        Two | None, typer.Option(metavar="ID ID", help="These two do contradict each other: show one of them alone.")
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
    pairs = [pair for one in pools for pair in client.memories.conflicts(one)]
    memories = {one.memory.id: one for one in client.memories.judge([one for pair in pairs for one in pair])}
    found = [[memories[one] for one in pair] for pair in pairs if all(one in memories for one in pair)]
    if as_json:
        print_json([[json_of(one) for one in pair] for pair in found])
        return
    rows = [
        (
            credibility_of(one),
            short_id(one.memory.id),
            one.credibility.credits,
            short(one.memory.prompt or "–", 22),
            short(one.memory.answer, 22),
        )
        for pair in found
        for one in sorted(pair, key=lambda one: -one.credibility.p)
    ]
    console.print(
        table("credibility", "id", "credits", "prompt", "answer", rows=rows) if rows else "No two memories contradict."
    )


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
