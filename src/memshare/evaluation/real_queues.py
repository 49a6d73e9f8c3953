"""The queues of a deployment that runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import redis

from memshare.client.client import Client
from memshare.client.journey import Journey
from memshare.evaluation.data import Item
from memshare.evaluation.queues import Change, Graded, Pair, Reply, Settled, Task
from memshare.evaluation.settling import settle
from memshare.evaluation.variants import Setup
from memshare.learn.bootstrap import question_of, seed_of
from memshare.learn.standard_answers import StandardAnswer
from memshare_broker.delivery.entry import Entry
from memshare_broker.errors import Unreachable
from memshare_broker.wire.messages import derived_id

DONE = "memshare:evaluate:done"  # hash: a change to the pool that was made → what is to be said of it
STALLED_AFTER = 900.0  # seconds in which nothing ends
BY = "evaluate"  # who submits
LOOK_EVERY = 0.02  # seconds
LOOK_AROUND_EVERY = 5.0  # seconds; whether anything else moves while one journey is waited for

Progress = Callable[[int], None]


class RealQueues:
    """Sends what an experiment asks for, under ids that are derived from its steps, and waits for it.

    `tend` is called while it waits: it starts again what has ended.
    """

    def __init__(
        self, client: Client, redis_client: redis.Redis, progress: Progress, tend: Callable[[], object]
    ) -> None:
        self._client = client
        self._redis = redis_client
        self._progress = progress
        self._tend = tend

    def ask(self, step: str, tasks: Sequence[Task], *, in_order: bool = False) -> list[Reply]:
        ids = [str(derived_id("evaluate", step, task.agent, task.item.id, task.item.prompt or "")) for task in tasks]
        if not in_order:
            self._submit_all(zip(ids, tasks, strict=True))
            return [_reply(journey) for journey in self._ended(ids)]
        replies = []
        for task_id, task in zip(ids, tasks, strict=True):
            self._submit_all([(task_id, task)])
            replies += [_reply(journey) for journey in self._ended([task_id])]
            self._wait_for_silence()
        return replies

    def questions(self, items: Sequence[Item], setup: Setup) -> list[Graded]:
        cards = self._client.agents()
        lines = [_line(item, item.answer, setup) for item in items]
        return self._graded([question_of(line, cards[line.agent], 1, BY) for line in lines])

    def grade(self, pairs: Sequence[Pair], setup: Setup) -> list[Graded]:
        cards = self._client.agents()
        lines = [_line(pair.item, pair.answer, setup) for pair in pairs]
        return self._graded([seed_of(line, cards[line.agent], BY) for line in lines])

    def settle(self, step: str, pairs: Sequence[Settled]) -> None:
        settle(self._client, step, pairs, self._wait_for_silence)
        self._progress(len(pairs))

    def change(self, step: str, change: Change) -> str:
        said = self._redis.hget(DONE, step)
        if said is None:
            said = change.make(self._client) or ""
            self._wait_for_silence()  # until what was brought in is compared
            self._redis.hset(DONE, step, said)
        return str(said)

    def _graded(self, entries: Sequence[Entry]) -> list[Graded]:
        """What standard answers got; nothing of it is remembered."""
        for entry in entries:
            self._client.send(_not_kept(entry))
        return [_graded(journey) for journey in self._ended([entry.journey for entry in entries])]

    def _submit_all(self, tasks: Iterable[tuple[str, Task]]) -> None:
        for task_id, task in tasks:
            body = {"prompt": task.item.prompt, "kind": task.item.kind, "memories": task.k, "remember": task.remember}
            body = {name: value for name, value in body.items() if value is not None}
            self._client.submit_task(task.agent, body | {"submitter": BY}, task_id=task_id)

    def _ended(self, ids: Sequence[str]) -> Iterator[Journey]:
        """The journeys in order, each once it has been settled or given up."""
        last = looked = time.monotonic()
        open_then: dict[str, int] | None = None
        for task_id in ids:
            while not (journey := self._client.journey(task_id)).ended:
                if time.monotonic() - looked > LOOK_AROUND_EVERY:
                    looked, open_now = time.monotonic(), self._client.ledger.open_messages()
                    if open_now != open_then:
                        last, open_then = looked, open_now
                if time.monotonic() - last > STALLED_AFTER:
                    why = f" It waits: {journey.waits.why}" if journey.waits else " The worker's log says more."
                    raise Unreachable(f"Nothing has ended for {STALLED_AFTER:.0f} s.{why}")
                self._tend()
                time.sleep(LOOK_EVERY)
            last = time.monotonic()
            self._progress(1)
            yield journey

    def _wait_for_silence(self) -> None:
        deadline = time.monotonic() + STALLED_AFTER
        while any(self._client.ledger.open_messages().values()):
            if time.monotonic() > deadline:
                raise Unreachable(f"Messages have been open for {STALLED_AFTER:.0f} s; the worker's log says more.")
            self._tend()
            time.sleep(LOOK_EVERY)


def _line(item: Item, answer: str, setup: Setup) -> StandardAnswer:
    return StandardAnswer(agent=setup.agent(item.agent), kind=item.kind, prompt=item.prompt, answer=answer)


def _not_kept(entry: Entry) -> Entry:
    assert isinstance(entry.body, dict)
    return entry.model_copy(update={"body": entry.body | {"remember": False}})


def _graded(journey: Journey) -> Graded:
    error = journey.dead.error if journey.dead else None
    return Graded(journey.prompt, journey.score.total if journey.score else None, error)


def _reply(journey: Journey) -> Reply:
    error = journey.dead.error if journey.dead else None
    if journey.score is None and error is None and journey.verified is not False:
        error = "it was not graded"
    return Reply(
        journey.task_id, journey.answer or "", journey.score, journey.memories, journey.retriever_version or 0, error
    )
