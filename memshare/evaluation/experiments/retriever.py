"""What does it bring that the retriever learns?"""

from __future__ import annotations

from contextlib import closing

from broker.connection import connect
from broker.errors import MemshareError
from memshare.client import Client
from memshare.evaluation.experiment import NO_MEMORIES, OWN, Experiment
from memshare.evaluation.lab import Lab
from memshare.evaluation.variants import Label

UNTRAINED = Label("untrained", lambda pool, number: f"{pool}-untrained-{number}")


def run(lab: Lab) -> None:
    """Let ordinary tasks teach one pool, put the same memories into another without lessons, and compare.

    The queries are answered one after the other: each one's lesson counts for the next.
    """
    for model in lab.models:
        own, untrained = lab.setup(OWN, model), lab.setup(UNTRAINED, model)
        lab.remember(f"seeds {model}", own, lab.seeds)
        grown = lab.write("learn", own, lab.split.queries, remember=True, in_order=True)
        lab.remember(f"untrained {model}", untrained, [*lab.seeds, *grown])
        lab.measure(NO_MEMORIES, own, k=0)
        lab.measure("untrained", untrained)
        lab.measure("adapter", own)
    lab.change("consolidate", _consolidate)
    for model in lab.models:
        lab.measure("consolidated", lab.setup(OWN, model))


def _consolidate(client: Client) -> str | None:
    # torch takes seconds to import, and only this needs it.
    from memshare.pool_reader import pool_pages
    from retriever_trainer.consolidation.consolidation import Consolidation

    with (
        closing(connect(client.settings.redis)) as redis_client,
        pool_pages(client.settings, redis_client) as (pages, name),
    ):
        try:
            Consolidation(client.settings, redis_client, pages, name, _silent).train(None)
        except MemshareError as error:
            return f"The encoder was not consolidated, so the condition 'consolidated' is the adapter again: {error}"
    return None


def _silent(what: str, done: int, total: int | None) -> None:
    """The experiment has a progress bar of its own."""


RETRIEVER = Experiment(
    "retriever",
    "A retriever that learns",
    "What does it bring that the retriever learns from the pool?",
    "The queries are answered as ordinary tasks, and what is accepted becomes a memory and a lesson. Compared are the "
    "same memories found by the encoder alone (untrained), by the pool's adapter, and after the encoder was "
    "consolidated; the test set is answered with three memories each time.",
    lambda _: [OWN, UNTRAINED],
    run,
    baseline=NO_MEMORIES,
)
