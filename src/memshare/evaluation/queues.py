"""Requests of an experiment to the queues of its deployment, and their results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple
from uuid import UUID

import redis

from memshare.client.client import BULK, Client, ended_in_order, wait_until_idle
from memshare.client.journey import Journey
from memshare.evaluation.data import DataItem
from memshare.evaluation.variants import Setup
from memshare.learn.bootstrap import StandardAnswer, question_of, seed_of
from memshare_broker.delivery.hops import SETTLE, NextMessage
from memshare_broker.errors import MemshareError
from memshare_broker.wire.grades import GradedTask, Score
from memshare_broker.wire.messages import AgentPair, Shown, Usage, derived_id
from memshare_memory.curate.requests import Edit, NewMemory
from memshare_memory.memory import folded, memory_id

DONE = "memshare:evaluate:done"  # hash: a change to the pool that was made → what is to be said of it
STALLED_AFTER = 900.0  # seconds in which nothing ends
BY = "evaluate"  # who submits

Progress = Callable[[int], None]
PERFECT = Score(
    total=100, threshold=0, accepted=True, criteria={}, rubric="", rubric_version="", model="", usage=Usage()
)
"""Of an answer that nobody graded, and that counts as right."""

Change = Callable[[Client], str | None]
"""Changes the pool or the retriever; returns what a reader has to know of how it went."""


class ExperimentTask(NamedTuple):
    """A task of an experiment: an item's question for an agent, with k memories."""

    item: DataItem
    agent: str
    model: str
    k: int
    remember: bool = False
    engine: bool = True
    """True if an agent that has an engine answers with it."""


class TaskReply(NamedTuple):
    """Outcome of a task. Without a grade its agent could not verify it, or it was given up: `error` says why."""

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


class Queues:
    """The queues of a deployment that runs, to which an experiment sends under ids derived from its steps, and waits.

    Run again, a step gives what it gave before.
    `tend` is called while it waits: it starts again what has ended.
    """

    def __init__(
        self, client: Client, redis_client: redis.Redis, progress: Progress, tend: Callable[[], object]
    ) -> None:
        self._client = client
        self._redis = redis_client
        self._progress = progress
        self._tend = tend

    def ask(self, step: str, tasks: Sequence[ExperimentTask], *, in_order: bool = False) -> list[TaskReply]:
        ids = [str(derived_id("evaluate", step, task.agent, task.item.id, task.item.prompt or "")) for task in tasks]
        if not in_order:
            self._submit_all(zip(ids, tasks, strict=True))
            return [_reply(journey) for journey in self._ended(ids)]
        replies = []
        for task_id, task in zip(ids, tasks, strict=True):
            self._submit_all([(task_id, task)])
            replies += [_reply(journey) for journey in self._ended([task_id])]
            self._wait_until_idle()
        return replies

    def questions(self, items: Sequence[DataItem], setup: Setup) -> list[GradedItem]:
        cards = self._client.agents()
        lines = [_line(item, item.answer, setup) for item in items]
        return self._graded([question_of(line, cards[line.agent], 1, BY) for line in lines])

    def grade(self, pairs: Sequence[AnsweredItem], setup: Setup) -> list[GradedItem]:
        cards = self._client.agents()
        lines = [_line(pair.item, pair.answer, setup) for pair in pairs]
        return self._graded([seed_of(line, cards[line.agent], BY) for line in lines])

    def settle(self, step: str, pairs: Sequence[Settled]) -> None:
        settle(self._client, step, pairs, self._wait_until_idle)
        self._progress(len(pairs))

    def change(self, step: str, change: Change) -> str:
        said = self._redis.hget(DONE, step)
        if said is None:
            said = change(self._client) or ""
            self._wait_until_idle()  # until what was brought in is compared
            self._redis.hset(DONE, step, said)
        return str(said)

    def _graded(self, messages: Sequence[NextMessage]) -> list[GradedItem]:
        """Grade standard answers; none of them is remembered."""
        for one in messages:
            self._client.send(one._replace(body=one.body.model_copy(update={"remember": False})))
        return [_graded(journey) for journey in self._ended([one.journey for one in messages])]

    def _submit_all(self, tasks: Iterable[tuple[str, ExperimentTask]]) -> None:
        for task_id, task in tasks:
            body = {"prompt": task.item.prompt, "kind": task.item.kind, "memories": task.k, "remember": task.remember}
            body = {name: value for name, value in body.items() if value is not None}
            self._client.submit_task(task.agent, body | {"submitter": BY}, task_id=task_id)

    def _ended(self, ids: Sequence[str]) -> Iterator[Journey]:
        for journey in ended_in_order(self._client, ids, STALLED_AFTER, self._tend):
            self._progress(1)
            yield journey

    def _wait_until_idle(self) -> None:
        wait_until_idle(self._client, STALLED_AFTER, self._tend)


def _line(item: DataItem, answer: str, setup: Setup) -> StandardAnswer:
    return StandardAnswer(agent=setup.agent(item.agent), kind=item.kind, prompt=item.prompt, answer=answer)


def _graded(journey: Journey) -> GradedItem:
    error = journey.dead.error if journey.dead else None
    return GradedItem(journey.prompt, journey.score.total if journey.score else None, error)


def _reply(journey: Journey) -> TaskReply:
    error = journey.dead.error if journey.dead else None
    if journey.score is None and error is None and journey.verified is not False:
        error = "it was not graded"
    return TaskReply(
        journey.task_id, journey.answer or "", journey.score, journey.memories, journey.retriever_version or 0, error
    )


def settle(client: Client, step: str, pairs: Sequence[Settled], wait: Callable[[], None]) -> None:
    """Settle pairs, in each pool one after the other: each one's lesson counts for the next.

    `wait` returns once nothing is open any more. What was settled in a run before is not settled again. Raises
    `MemshareError` where one was given up: an experiment on the others would be another one.
    """
    by_pool: defaultdict[str, list[NextMessage]] = defaultdict(list)
    for one in pairs:
        by_pool[one.pool].append(message_of(step, one))
    for row in zip_longest(*by_pool.values()):
        messages = [message for message in row if message is not None]
        known = client.outcomes([message.journey for message in messages])
        for message in messages:
            if not (message.journey in known and known[message.journey].ended):
                client.send(message, keep=True)
        wait()  # also where all were settled before: the run may have ended in the middle of their lessons
        dead = [one.error for one in client.outcomes([message.journey for message in messages]).values() if one.dead]
        if dead:
            raise MemshareError(
                f"{len(dead)} of {len(pairs)} pairs could not be remembered, such as: {dead[0]} "
                "Mend that and run the same command: it tries these again."
            )


def message_of(step: str, settled: Settled) -> NextMessage:
    """The message that settles a pair, the same each time."""
    pool, agent, rubric, pair = settled
    journey = str(derived_id("evaluate", "settle", step, pool, pair.item.id, folded(pair.answer)))
    task = AgentPair(
        journey=journey,
        agent=agent,
        kind=pair.item.kind,
        pool=pool,
        rubric=rubric,
        prompt=pair.item.prompt or "",
        answer=pair.answer,
        model=pair.grade and pair.by,
        submitter=pair.by,
        shown=pair.shown,
    )
    body = GradedTask(task=task, score=pair.grade or _grade_of(pair, rubric))
    return SETTLE.next(body, journey, BULK)


def _grade_of(pair: AnsweredItem, rubric: str) -> Score:
    """Of a pair that the experiment puts into the pool, whatever it is worth."""
    total = PERFECT.total if pair.score is None else pair.score
    return PERFECT.model_copy(update={"total": total, "rubric": rubric})


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
