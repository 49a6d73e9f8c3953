"""How every command forgets: it shows what would go, asks, forgets, and tells what is left of it elsewhere."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from memshare.cli.curate.before_forgetting import require_consent, show
from memshare.cli.curate.unlearning import retrievers_without
from memshare.client.client import Client
from memshare.terminal.console import errors, print_json
from memshare.terminal.memory_pages import counted
from memshare_memory.curate.requests import Forget

RollBack = Annotated[
    bool | None,
    typer.Option(
        "--roll-back/--keep-retriever",
        help="Put the retrievers where they would be without them, and with --submitter take back the credit that "
        "their tasks gave. [default: ask for the retrievers]",
    ),
]


@dataclass(frozen=True)
class Consent:
    """What a command was told by its options. `needed` is False where forgetting one memory is all it does."""

    yes: bool = False
    all_anonymous: bool = False
    dry_run: bool = False
    needed: bool = True


def forget_these(
    client: Client, which: Forget, roll_back: bool | None, consent: Consent, *, as_json: bool
) -> dict[str, Any] | None:
    """Forget memories; returns their ids, what retrievers learnt of them, and how much is `stale`; None for --dry-run.

    Ends the command where the person does not agree.
    """
    asks = consent.needed and not consent.yes
    if consent.dry_run or asks:
        preview = client.memories.forget_preview(which)
        show(preview, "would be forgotten")
        if consent.dry_run:
            if as_json:
                print_json({"would_forget": preview.model_dump(mode="json")})
            return None
    if consent.needed:
        require_consent(which, "Forget them?", yes=consent.yes, all_anonymous=consent.all_anonymous)
    stale = 0 if which.with_children or which.only_children else written_from(client, which)
    forgotten = client.memories.forget(which.model_copy(update={"roll_back": bool(roll_back)}))
    ask = not (as_json or consent.yes) and sys.stdin.isatty()
    retrievers = retrievers_without(client, forgotten, roll_back, ask=ask, submitter=which.submitter)
    return {"forgotten": [str(one) for one in forgotten], "retrievers": retrievers, "stale": stale}


def written_from(client: Client, which: Forget) -> int:
    """How many memories were written from the statements among some; they are stale when those change or go."""
    found = [memory for memory in map(client.memories.get, which.ids) if memory.is_statement]
    if not found:
        return 0
    ids = tuple(memory.id for memory in found)
    return client.memories.forget_preview(Forget(ids=ids, only_children=True)).memories


def say_stale(count: int) -> None:
    """Say what became of memories that were written from a statement that is no more, or says something else."""
    if count:
        errors.print(
            f"{counted(count)} written from it: stale now, and not shown until graded again (`memshare memories edit ID"
            " --grade`) or kept (`--status active`). `memshare memories list --status stale` lists them.",
            soft_wrap=True,
        )
