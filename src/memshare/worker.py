"""A worker for any of the queues; `celery -A memshare.worker worker` runs it too.

A package is imported only where one of its queues is served: a worker of agents takes 100 MB, not a gigabyte.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

from memshare_agents.roster import cards, load_roster
from memshare_broker.app import CONCEPTS_QUEUE, MEMORY_QUEUE, SCORER_QUEUE, TRAINER_QUEUE
from memshare_broker.presence import AgentCard
from memshare_broker.settings import Settings
from memshare_broker.worker import WorkerPart, worker_app


def _part_of(
    module: str,
    queues: Callable[[Settings], Sequence[str]],
    cards: Callable[[Settings], Sequence[AgentCard]] = lambda _: (),
) -> WorkerPart:
    """The part of a package, which is imported when it is used."""

    def part() -> WorkerPart:
        found: WorkerPart = import_module(module).part
        return found

    return WorkerPart(
        queues=queues,
        register=lambda app, settings: part().register(app, settings),
        warm=lambda settings, served: part().warm(settings, served),
        cards=cards,
        pulse=lambda settings, served: part().pulse(settings, served),
    )


# The memory service first: agents that start in the same process ask it for their documents.
parts = (
    _part_of("memshare_memory.worker", lambda _: [MEMORY_QUEUE]),
    _part_of("memshare_agents.worker", lambda settings: list(load_roster(settings.agents_dir)), cards),
    _part_of("memshare_scorer.worker", lambda _: [SCORER_QUEUE]),
    _part_of("memshare_concepts.worker", lambda _: [CONCEPTS_QUEUE]),
    _part_of("memshare_trainer.worker", lambda _: [TRAINER_QUEUE]),
)
app = worker_app(*parts)
