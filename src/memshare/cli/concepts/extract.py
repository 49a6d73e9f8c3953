"""`memshare concepts extract`: name the concepts of memories that have none yet."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count

import typer

from memshare.cli.options import Json, Pool, Yes
from memshare.client.client import BULK, Client
from memshare.client.pools import require_scorer_model
from memshare.terminal.console import console, errors, print_json, progress_bar, require_consent, stopping
from memshare.terminal.ids import counted, the_pool
from memshare_broker.app import CONCEPTS_QUEUE
from memshare_broker.connection import reaching
from memshare_broker.delivery.hops import EXTRACT, NOTE_CONCEPTS
from memshare_broker.errors import Unreachable
from memshare_broker.wire.messages import derived_id
from memshare_llm.batches import MOST
from memshare_llm.structured import MOST_CALLS
from memshare_memory.admit.asked_concepts import extraction
from memshare_memory.memory import Memory
from memshare_memory.stores.store import Where

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
        line = f"{counted(left)} got none: `memshare dead list` says why. Run this again to ask once more."
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
