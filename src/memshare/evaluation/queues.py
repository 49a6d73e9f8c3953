"""An experiment's door to the queues, which has two sides: `real_queues`, and `rehearsal`, which only counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol
from uuid import UUID

from memshare.client.client import Client
from memshare.evaluation.data import DataItem
from memshare.evaluation.variants import Setup
from memshare_broker.wire.grades import Score
from memshare_broker.wire.messages import Shown, Usage
from memshare_memory.curate.requests import Edit, NewMemory
from memshare_memory.memory import memory_id

AT_ONCE = 200  # memories in a message


PERFECT = Score(
    total=100, threshold=0, accepted=True, criteria={}, rubric="", rubric_version="", model="", usage=Usage()
)
"""Of an answer that nobody graded, and that counts as right."""

Change = Callable[[Client], str | None]
"""Changes the pool or the retriever; returns what a reader has to know of how it went."""


class ExperimentTask(NamedTuple):
    """One task of an experiment: an item's question for an agent, with k memories."""

    item: DataItem
    agent: str
    model: str
    k: int
    remember: bool = False
    engine: bool = True
    """Whether an agent that has an engine answers with it."""


class TaskReply(NamedTuple):
    """What became of a task. Without a grade its agent could not verify it, or it was given up: `error` says why."""

    task_id: str
    answer: str
    grade: Score | None
    shown: tuple[Shown, ...] = ()
    version: int = 0
    error: str | None = None

    @property
    def accepted(self) -> bool:
        return self.grade is not None and self.grade.accepted


class GradedItem(NamedTuple):
    """A standard pair: its question and its score; what was given up has none, for the reason in `error`."""

    prompt: str
    score: float | None
    error: str | None = None


class AnsweredItem(NamedTuple):
    """A question and an answer to put into a pool: its score where it has one, and who wrote it.

    Of an agent's answer also its grade, and the memories that were shown for it.
    """

    item: DataItem
    answer: str
    score: float | None
    by: str
    grade: Score | None = None
    shown: tuple[Shown, ...] = ()

    def id(self, pool: str) -> UUID:
        return memory_id(pool, self.item.prompt, self.answer)


class Settled(NamedTuple):
    """A pair on its way into a pool, for an agent whose answers are graded by a rubric."""

    pool: str
    agent: str
    rubric: str
    pair: AnsweredItem


class Queues(Protocol):
    """What an experiment asks for. Each call is known by its step: run again, it gives what it gave before."""

    def ask(self, step: str, tasks: Sequence[ExperimentTask], *, in_order: bool = False) -> list[TaskReply]:
        """The answers to tasks, graded; in order: each when everything that the one before led to has ended."""
        ...

    def questions(self, items: Sequence[DataItem], setup: Setup) -> list[GradedItem]:
        """A question for each standard answer, by the agents of a setup, and the score of the two."""
        ...

    def grade(self, pairs: Sequence[AnsweredItem], setup: Setup) -> list[GradedItem]:
        """The score of each pair, by the rubrics of a setup."""
        ...

    def settle(self, step: str, pairs: Sequence[Settled]) -> None:
        """Let graded pairs become memories as ordinary tasks do, in order: with credit, comparisons and lessons."""
        ...

    def change(self, step: str, change: Change) -> str:
        """Make a change, once; what is to be said of it."""
        ...


def put(pairs: Sequence[tuple[str, str, AnsweredItem]]) -> Change:
    """Puts pairs into pools as memories that are trusted, given as (pool, agent, pair)."""
    memories = [
        NewMemory(
            pool=pool,
            agent=agent,
            kind=pair.item.kind,
            prompt=pair.item.prompt,
            answer=pair.answer,
            score=pair.score,
            submitter=pair.by,
            new_pool=True,
        )
        for pool, agent, pair in pairs
    ]

    def change(client: Client) -> None:
        client.memories.add(memories)

    return change


def edit(answers: Mapping[UUID, str]) -> Change:
    """Changes what memories answer."""

    def change(client: Client) -> None:
        for memory, answer in answers.items():
            client.memories.edit(Edit(id=memory, answer=answer))

    return change
