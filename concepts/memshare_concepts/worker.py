"""The concept worker: its task `concepts.extract` asks a model which concepts a memory has.

It serves the queue `concepts`; `celery -A memshare_concepts.worker worker` runs it alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import zip_longest

from memshare_broker.app import CONCEPTS_QUEUE, App
from memshare_broker.connection import connect
from memshare_broker.delivery.hops import EXTRACT, NOTE_CONCEPTS
from memshare_broker.delivery.stage import Outcome, Stage, add_stage
from memshare_broker.errors import GiveUp, TryAgain
from memshare_broker.observe.logs import ids
from memshare_broker.settings import Settings
from memshare_broker.wire.lessons import Extracted, ExtractTask
from memshare_broker.worker import WorkerPart, open_stage_services, worker_app
from memshare_concepts.extraction import EXAMPLES, extract, fit_together, stored
from memshare_llm.batches import LEFT_OUT, TOO_MUCH, Batches, shares
from memshare_llm.build import fit_in_time, open_budget, open_limited, open_metering
from memshare_llm.chat import Chat
from memshare_llm.limits.budget import Metering, Payer
from memshare_llm.models import has_model
from memshare_memory.door.client import MemoryClient
from memshare_memory.door.messages import SearchRequest
from memshare_memory.memory import Memory, memory_id
from memshare_memory.stores.store import Where

log = logging.getLogger(__name__)

EXAMPLES_OF_MANY = 6
LOOKED_AT = 12  # memories, the nearest ones, of which the first with concepts are examples


@dataclass(frozen=True)
class Extracting:
    """The concept worker at work, with its model and its connection to the memory service."""

    chat: Chat
    memory: MemoryClient
    metering: Metering
    check_caps: Callable[[str, str], None]  # raises `NotYet` where the cap of an agent or of a submitter is reached
    batches: Batches[ExtractTask, Extracted]

    def run(self, journey: str, task: ExtractTask) -> Outcome:
        """Ask for the concepts of a memory as it is now, with those that wait for theirs; or wait itself.

        One that is gone, or has some, is not asked about, and without a model none is. What is too much for the model,
        or refused by its content filter, is left out.
        """
        nothing = Extracted(journey=journey, pool=task.pool, memory_id=task.memory_id)
        if not has_model(self.chat):
            return Outcome(nothing, ended="no model")
        found = self.memory.page(Where(ids=[task.memory_id]), 1).memories
        if not found or found[0].concepts:
            self.batches.leave(task)
            return Outcome(nothing, ended="known" if found else "gone")
        extracted = self.batches.said(journey)
        if extracted is None:
            self.check_caps(task.agent, task.submitter)
            try:
                extracted = self.batches.ask(task, partial(self._ask, found[0]))
            except (TryAgain, GiveUp) as error:
                if error.reason not in TOO_MUCH | LEFT_OUT:
                    raise
                about = ids(task_id=journey, memory_id=task.memory_id, pool=task.pool)
                log.warning("Its concepts were not named: %s", error, extra=about)
                return Outcome(nothing, ended="not named", goes_without=error)
        log.info("Named its concepts.", extra=ids(task_id=journey, memory_id=task.memory_id, pool=task.pool))
        return Outcome(extracted, NOTE_CONCEPTS.next(extracted), "named")

    def _ask(self, memory: Memory, tasks: Sequence[ExtractTask]) -> dict[str, Extracted]:
        """A model's concepts for the first task's `memory`, and for those of the other tasks that fit into the call."""
        first, *rest = tasks
        others = [other for other in self._unnamed(rest) if other.id != memory.id]
        together = fit_together([memory, *others])
        with self.metering(self.chat, Payer(first.journey, first.agent, first.submitter)) as chat:
            asked = extract(chat, together, self._examples(together))
        named = {member.id: (member, said) for member, said in zip(together, asked.hierarchies, strict=True)}
        asked_about = [task for task in tasks if task.memory_id in named]
        return {
            task.journey: Extracted(
                journey=task.journey,
                pool=task.pool,
                memory_id=task.memory_id,
                said=memory_id(about.pool, about.prompt, about.answer),
                concepts=stored(said),
                model=asked.model,
                usage=usage,
            )
            for task, usage in zip(asked_about, shares(asked.usage, len(asked_about)), strict=True)
            for about, said in [named[task.memory_id]]
        }

    def _unnamed(self, tasks: Sequence[ExtractTask]) -> list[Memory]:
        """The memories of tasks, as they are now; none that is gone or has concepts."""
        wanted = [task.memory_id for task in tasks]
        found = self.memory.page(Where(ids=wanted), len(wanted)).memories if wanted else []
        return [memory for memory in found if not memory.concepts]

    def _examples(self, memories: Sequence[Memory]) -> list[Memory]:
        """The nearest memories of the pool that have concepts: those that are nearest to each one first."""
        near = [self._near(memory) for memory in memories]
        in_turn = [example for some in zip_longest(*near) for example in some if example is not None]
        most = EXAMPLES if len(memories) == 1 else EXAMPLES_OF_MANY
        return list({example.id: example for example in in_turn}.values())[:most]

    def _near(self, memory: Memory) -> list[Memory]:
        where = Where(pool=memory.pool, status="active")
        near = self.memory.search(SearchRequest(text=memory.asked, k=LOOKED_AT, where=where))
        return [hit.memory for hit in near if hit.memory.concepts and hit.memory.id != memory.id][:EXAMPLES]


@cache
def _extracting(settings: Settings) -> Extracting:
    client, model = connect(settings.redis), settings.model_for("scorer")
    chat = open_limited(settings, model, "concepts", connections=settings.concurrency)
    ledger, wait = open_stage_services(settings).ledger, settings.concepts_wait
    batches: Batches[ExtractTask, Extracted] = Batches(
        EXTRACT, "concepts", client, ledger, wait, model=model, in_time=fit_in_time(settings, model)
    )
    return Extracting(chat, MemoryClient(settings), open_metering(settings), open_budget(settings).check, batches)


def _register(app: App, settings: Settings) -> None:
    stage = Stage(EXTRACT, lambda journey, task: _extracting(settings).run(journey, task))
    add_stage(app, stage, partial(open_stage_services, settings))


def _warm(settings: Settings, queues: Sequence[str]) -> None:
    if CONCEPTS_QUEUE in queues:
        _extracting(settings)


part = WorkerPart(queues=lambda _: [CONCEPTS_QUEUE], register=_register, warm=_warm)
app = worker_app(part)
