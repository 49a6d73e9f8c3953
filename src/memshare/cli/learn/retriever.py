"""`memshare retriever`: how well it ranks, and going back and forward with it."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import redis
import typer

from memshare.cli.learn.consolidate import back_to_encoder_before, consolidate
from memshare.cli.learn.trust import trust
from memshare.cli.options import Json
from memshare.client.client import Client
from memshare.client.pools import encoder_in_use
from memshare.operate.own_redis import connected
from memshare.terminal.console import console, print_json
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings, load_settings

# The store's engines take a second to import and torch several, so what needs them is imported where it is used.

app = typer.Typer(
    help="The retriever: what it has learnt, going back to an earlier one, training its encoder.",
    no_args_is_help=True,
    add_completion=False,
)

UPDATES_IN_JSON, UPDATES_IN_CHART = 50, 2_000


@app.command()
def status(
    pool: Annotated[str | None, typer.Option(help="Only this pool, in more detail.")] = None, as_json: Json = False
) -> None:
    """Show what each pool's retriever has learnt: versions, lessons, held-out accuracy, refused updates.

    Example: memshare retriever status --pool poem
    """
    from memshare.cli.learn.retriever_status import print_status
    from memshare_trainer.status import read_status

    settings = load_settings()
    with connected(settings) as client:
        updates = UPDATES_IN_JSON if as_json else UPDATES_IN_CHART
        found = read_status(client, settings, encoder_in_use(settings, client), pool, updates)
        if pool is not None and not found.pools:
            _require_known(settings, pool)
    if as_json:
        print_json(found.model_dump(mode="json"))
    elif found.pools:
        print_status(found, in_detail=len(found.pools) == 1)
    else:
        console.print(
            f"{f'Pool {pool}' if pool else 'No pool'} has had {'no' if pool else 'a'} lesson yet with the encoder"
            f" {found.encoder}. Each accepted answer becomes one, once its pool has some memories: start `memshare up`"
            " and submit tasks.",
        )


@app.command()
def rollback(
    pool: Annotated[str | None, typer.Option(help="The pool whose retriever goes back to an earlier version.")] = None,
    to: Annotated[
        int | None, typer.Option(min=0, help="The version; 0 is untrained. [default: the one before]")
    ] = None,
    encoder: Annotated[bool, typer.Option("--encoder", help="Back to the encoder before the consolidation.")] = False,
    as_json: Json = False,
) -> None:
    """Go back to an earlier version of a pool's retriever, or to the encoder before the last consolidation.

    Example: memshare retriever rollback --pool poem --to 12
    """
    if (pool is None) is not encoder or (encoder and to is not None):
        raise BadInput("Give --pool, with --to if you like, or --encoder: one of the two.")
    settings = load_settings()
    if pool is None:
        back_to_encoder_before(settings, as_json=as_json)
    else:
        _back_to_version(settings, pool, to, as_json=as_json)


app.command()(consolidate)
app.command()(trust)


def _back_to_version(settings: Settings, pool: str, to: int | None, *, as_json: bool) -> None:
    from memshare_trainer.learning.rollback import roll_back
    from memshare_trainer.lessons.lesson_log import LessonLog

    with connected(settings) as client:
        encoder = encoder_in_use(settings, client)
        _require_lessons(client, pool, encoder)
        log = LessonLog(client, pool, encoder, kept=settings.lessons_kept, keep_days=settings.keep_days)
        done = roll_back(log, to)
    if as_json:
        print_json({"pool": pool, **done._asdict()})
        return
    now = f"version {done.version}" if done.version else "version 0, the untrained one,"
    console.print(
        f"The retriever of pool {pool} has {now} in use, before: {done.before}. {done.set_aside} lessons from after it"
        f" were set aside, and {done.brought_back} brought back. Agents use it from their next task on.",
    )


def _require_lessons(client: redis.Redis, pool: str, encoder: str) -> None:
    """Raise `BadInput` for a pool that has had no lesson with an encoder."""
    from memshare_trainer.lessons.lesson_log import retrievers

    there = retrievers(client, encoder)
    if pool not in there:
        raise BadInput(
            f"No pool {pool!r} has had a lesson with the encoder {encoder!r}. There are: {', '.join(there) or 'none'}."
        )


def _require_known(settings: Settings, pool: str) -> None:
    with closing(Client(settings)) as client:
        known = {card.pool for card in client.agents().values()}
    if pool not in known:
        raise BadInput(f"No pool is called {pool!r}. There are: {', '.join(sorted(known))}.")
