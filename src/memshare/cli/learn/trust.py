"""`memshare retriever trust`: a person's word that makes a submitter of a pool proven."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from memshare.cli.options import Json, login_name
from memshare.operate.own_redis import connected
from memshare.terminal.console import console, print_json, styled
from memshare_broker.errors import BadInput
from memshare_broker.settings import load_settings
from memshare_memory.recall.trust import Trust, decide, decided


def trust(
    submitter: Annotated[str | None, typer.Argument(help="Whom to trust. [default: show who is trusted]")] = None,
    pool: Annotated[str | None, typer.Option(help="The pool in which their memories count as proven.")] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take back what was said of them.")] = False,
    as_json: Json = False,
) -> None:
    """Trust a submitter: their memories are shown as proven ones, whatever grades say of them.

    Example: memshare retriever trust ada --pool logic
    """
    with connected(load_settings()) as client:
        if submitter is not None:
            if pool is None:
                raise BadInput("Name the pool with --pool: a submitter is trusted in one pool at a time.")
            known = decided(client).get(pool, {})
            if undo and submitter not in known:
                raise BadInput(f"Nobody has said anything of {submitter!r} in the pool {pool!r}.")
            decide(client, pool, submitter, None if undo else Trust(said="trust", by=login_name(), at=time.time()))
        found = {name: said for name, said in decided(client).items() if pool in (None, name)}
    if as_json:
        print_json({name: {who: one.model_dump() for who, one in said.items()} for name, said in found.items()})
    elif submitter is not None:
        done = "has to prove themselves" if undo else "is trusted"
        console.print(styled((submitter, "bold"), f" {done} in pool {pool}, from the next task on."))
    else:
        for name, said in sorted(found.items()):
            for who, one in sorted(said.items()):
                word = "trusted" if one.said == "trust" else "left unproven"
                console.print(styled(f"{name}: ", (who, "bold"), f" {word} by {one.by}"))
        if not found:
            console.print("Nobody is trusted by hand.")
