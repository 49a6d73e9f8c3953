"""`memshare concepts extract`, `similar`, `merge` and `split`: names of concepts, and which of them mean one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from itertools import count
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from memshare.cli.concepts.open_concepts import concept_named, opened
from memshare.cli.operating import note
from memshare.cli.options import By, Json, Pool, Rows, Yes, login_name
from memshare.client.client import BULK, Client
from memshare.client.pools import require_scorer_model
from memshare.terminal.console import console, errors, print_json, progress_bar, require_consent, short, stopping, table
from memshare.terminal.ids import counted, the_pool
from memshare_broker.app import CONCEPTS_QUEUE
from memshare_broker.connection import reaching
from memshare_broker.delivery.hops import EXTRACT, NOTE_CONCEPTS
from memshare_broker.errors import BadInput, Unreachable
from memshare_broker.wire.messages import derived_id
from memshare_concepts.decisions import Decisions, Merge
from memshare_llm.batches import MOST
from memshare_llm.structured import MOST_CALLS
from memshare_memory.admit.asked_concepts import extraction
from memshare_memory.memory import Memory
from memshare_memory.stores.store import Where

if TYPE_CHECKING:
    from memshare_concepts.nearly_same import SimilarNames


AHEAD = 500  # memories that are asked for at once: of the others, messages are not made yet
LOOK_EVERY = 0.5  # seconds


def extract(
    pool: Pool = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Name the concepts of the memories of a pool that have none yet, ten by one call of the model.

    New memories get theirs by themselves; this is for older ones and for passages of documents.
    Run it again to go on: what is done is not paid for again.

    Example: memshare concepts extract --pool poem
    """
    client = Client()
    name = the_pool(client, pool)
    with errors.status(f"Looking for memories of pool {name!r} without concepts…"):
        number = sum(1 for _ in _without(client, name))
    most = number * MOST_CALLS * client.settings.tries
    if number:
        _ask(client, name, number, most, yes=yes)
        with stopping("Calls that were sent go on; run it again for the rest: it pays for nothing twice."):
            _name_all(client, name, number)
    left = sum(1 for _ in _without(client, name)) if number else 0
    if as_json:
        found = {"pool": name, "without": number, "named": number - left, "left": left, "most_calls": most}
        print_json(found)
    elif not number:
        console.print(f"All memories of pool {name!r} have concepts.")
    else:
        console.print(f"{counted(number - left)} of pool {name!r} got their concepts.")
    if left:
        line = f"{counted(left)} got none: `memshare dead list` or `status` says why. Run this again to ask once more."
        errors.print(line, style="yellow")
        raise typer.Exit(1)


def _without(client: Client, pool: str) -> Iterator[Memory]:
    return (memory for memory in client.memories.every(Where(pool=pool)) if not memory.concepts)


def _ask(client: Client, pool: str, number: int, most: int, *, yes: bool) -> None:
    """Say what it takes, and return where the person agrees."""
    if not any(CONCEPTS_QUEUE in worker.queues for worker in client.workers()):
        raise Unreachable(
            "No worker names concepts: start `memshare worker concepts`. `memshare up` does so unless MEMSHARE_CONCEPTS"
            " is false."
        )
    require_scorer_model(client, "`memshare concepts extract`")
    line = (
        f"{counted(number)} of pool {pool!r} without concepts: a call of {client.settings.model_for('scorer')} for"
        f" {MOST} of one agent and submitter; at most {most:,} where each has to be asked about again by itself."
    )
    errors.print(line)
    require_consent("Go on?", yes=yes)


def _name_all(client: Client, pool: str, number: int) -> None:
    """Have all of them named, some at a time, and return when no message is open any more."""
    waiting: set[str] = set()
    said: set[str] = set()
    with progress_bar("Naming concepts", number) as bar:
        for memory in _without(client, pool):
            waiting.add(_sent(client, memory))
            while len(waiting) >= AHEAD:
                bar(advance=len(waiting) - len(waiting := _open(client, waiting, said)))
        while waiting:
            bar(advance=len(waiting) - len(waiting := _open(client, waiting, said)))


def _sent(client: Client, memory: Memory) -> str:
    """The id of the journey that brings a memory its concepts: one that is under way, or one that begins here."""
    own = extraction(memory)
    first = own.journey or ""
    if memory.task_id and client.ledger.open_of(_messages(memory.task_id)):
        return memory.task_id
    for number in count():
        journey = str(derived_id(first, str(number))) if number else first
        message = extraction(memory, journey)._replace(priority=BULK)
        if client.send(message) or client.ledger.open_of(_messages(journey)):
            return journey
        # One that has ended, and named nothing, is not begun again.
    raise AssertionError


def _open(client: Client, journeys: set[str], said: set[str]) -> set[str]:
    """The journeys still under way after a moment; each reason for waiting is said once."""
    time.sleep(LOOK_EVERY)
    ids = {message: journey for journey in journeys for message in _messages(journey)}
    with reaching(client.settings.redis):
        still = {ids[entry.id] for entry in client.ledger.open_of(list(ids))}
        why = {one.why for one in client.ledger.parked.all() if one.id in ids}
    for line in sorted(why - said):
        errors.print(f"Waits: {line}", style="yellow")
    said |= why
    return still


def _messages(journey: str) -> list[str]:
    return [str(derived_id(journey, hop.name)) for hop in (EXTRACT, NOTE_CONCEPTS)]


BY = "similarity"
"""Who merged, where nobody was asked."""


def similar(
    merge: Annotated[bool, typer.Option("--merge", help="Merge those of a cosine of .95 or more.")] = False,
    apart: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="A B", help="These two are different concepts: do not propose them again."),
    ] = None,
    by: By = None,
    pool: Pool = None,
    limit: Rows = 50,
    as_json: Json = False,
) -> None:
    """List concepts whose names mean nearly the same, by the encoder: a cosine of .85 or more.

    Names with digits or single letters are never among them: GPT-3 is not GPT-4.

    Example: memshare concepts similar --pool physics --merge
    """
    with opened("similar", pool) as found:
        from memshare_concepts.nearly_same import proposed_names
        from memshare_concepts.pool_graph import encode

        decisions = Decisions(found.redis, found.concepts.pool)
        if apart is not None:
            one, other = (concept_named(found.concepts.graph, typed, found.concepts.pool) for typed in apart)
            decisions.keep_apart(one, other, datetime.now(UTC), login_name() if by is None else by)
            note("decide on concepts", pool=found.concepts.pool, apart=f"{one}, {other}")
            print_json({"apart": [one, other]}) if as_json else console.print(f"{one} and {other} are two concepts.")
            return
        with errors.status("Comparing what names mean…"):
            pairs = proposed_names(found.concepts.graph, partial(encode, found.client.memories), decisions)
        merged = _merge(decisions, [pair for pair in pairs if pair.certain]) if merge else []
        if merged:
            note("decide on concepts", pool=found.concepts.pool, merged=len(merged))
    left = [pair for pair in pairs if pair not in merged]
    if as_json:
        print_json({"merged": [pair._asdict() for pair in merged], "proposed": [pair._asdict() for pair in left]})
        return
    if merged:
        rows = [(f"{pair.similarity:.3f}", short(pair.other, 40), short(pair.keep, 40)) for pair in merged]
        console.print(table("cosine", "merged", "into", rows=rows))
    if not left:
        console.print("No similar names are left." if merged else "No two names are similar.")
        return
    rows = [(f"{pair.similarity:.3f}", short(pair.other, 40), short(pair.keep, 40)) for pair in left[:limit]]
    console.print(table("cosine", "may mean", "the same as", rows=rows))
    hint = "`memshare concepts merge A B` merges two, --apart A B keeps them apart"
    console.print(hint + ("." if merge else ", --merge merges all from .95."), style="dim")
    if len(left) > limit:
        errors.print(f"{len(left) - limit:,} more: --limit.", style="dim")


def _merge(decisions: Decisions, pairs: list[SimilarNames]) -> list[SimilarNames]:
    """Merge pairs, the most similar first; returns those that were not one concept already by the merges before."""
    merged = []
    aliases = decisions.aliases()
    for pair in pairs:
        record = Merge(of=pair.other, into=pair.keep, at=datetime.now(UTC), by=BY, similarity=pair.similarity)
        if aliases.key(pair.other) == aliases.key(pair.keep) or aliases.is_merged(pair.other):
            continue
        decisions.merge(record)
        aliases.add(record)
        merged.append(pair)
    return merged


def merge(
    name: Annotated[str, typer.Argument(metavar="A", help="The name to merge.")],
    into: Annotated[str, typer.Argument(metavar="B", help="The concept that it means.")],
    by: By = None,
    pool: Pool = None,
    as_json: Json = False,
) -> None:
    """Merge concept A into B: memories with A count as having B. `split A` undoes it.

    Example: memshare concepts merge "Neural Net" "Neural Network" --pool physics
    """
    with opened("merge", pool) as found:
        graph, aliases = found.concepts.graph, found.concepts.aliases
        if aliases.is_merged(name):
            raise BadInput(
                f"{name!r} counts as {concept_named(graph, name, found.concepts.pool)!r} already:"
                " `memshare concepts split` takes that back."
            )
        of, target = (concept_named(graph, typed, found.concepts.pool) for typed in (name, into))
        together = len({*graph.memories(of), *graph.memories(target)})
        record = Merge(of=of, into=target, at=datetime.now(UTC), by=login_name() if by is None else by)
        try:
            Decisions(found.redis, found.concepts.pool).merge(record)
        except ValueError as error:
            raise BadInput(str(error)) from error
        note("decide on concepts", pool=found.concepts.pool, merge=f"{of}, {target}")
    if as_json:
        print_json({"merged": of, "into": target, "count": together})
    else:
        console.print(
            f"{of} means {target} now, which {counted(together)} have. `memshare concepts split {quote(of)}` undoes it."
        )


def split(
    name: Annotated[str, typer.Argument(metavar="A", help="The name that was merged.")],
    by: By = None,
    pool: Pool = None,
    as_json: Json = False,
) -> None:
    """Undo a merge: A is a concept of its own again, and `similar` does not propose the two again.

    Example: memshare concepts split "Neural Net" --pool physics
    """
    with opened("split", pool) as found:
        decisions = Decisions(found.redis, found.concepts.pool)
        try:
            undone = decisions.split(name)
        except ValueError as error:
            merged = ", ".join(merge.of for merge in found.concepts.aliases.merges())
            raise BadInput(f"{error} Merged are: {merged or 'none'}.") from error
        decisions.keep_apart(undone.of, undone.into, datetime.now(UTC), login_name() if by is None else by)
        note("decide on concepts", pool=found.concepts.pool, split=undone.of)
    if as_json:
        print_json({"split": undone.of, "from": undone.into})
    else:
        console.print(f"{undone.of} and {undone.into} are two concepts again.")
