"""Messages that share a deferred call: the reply is about those that were asked about, whoever came since."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pytest
import redis
from pydantic import BaseModel

from memshare_broker.delivery.hops import LEARN
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.schema import MESSAGES, PARKED
from memshare_broker.errors import NotYet
from memshare_broker.wire.lessons import LessonTask
from memshare_broker.wire.messages import Embedding, Turn
from memshare_llm.batches import DEFERRED_AGAIN, Batches
from memshare_llm.chat import Chat, Deferred, Reply
from memshare_llm.limits.budget import Payer
from memshare_trainer.labels import Labeller
from memshare_trainer.percentages import Percentages
from tests.support.judge import UNSPEAKABLE, LabelsByAnswer, document, labelled


class DeferredJudge(LabelsByAnswer):
    """Replies to a question only when it is asked again after the batch has ended."""

    def __init__(self) -> None:
        super().__init__(lambda answer: int(answer.split()[0]))
        self.deferred: list[tuple[Turn, ...]] = []
        self.has_ended = self.is_busy = False

    def reply(self, turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> Reply:
        if self.is_busy:
            raise NotYet("It has as many requests as it can do.", 5, "server scripted")
        if not self.has_ended or tuple(turns) not in self.deferred:
            self.deferred.append(tuple(turns))
            raise Deferred("It waits for batch 1.", 1_200, "deferred scripted")
        return super().reply(turns, schema)


@contextmanager
def unmetered(chat: Chat, payer: Payer) -> Iterator[Chat]:  # noqa: ARG001
    yield chat


@pytest.fixture
def judge() -> DeferredJudge:
    return DeferredJudge()


@pytest.fixture
def ledger(redis_client: redis.Redis) -> Ledger:
    return Ledger(redis_client, 1)


@pytest.fixture
def labeller(judge: DeferredJudge, redis_client: redis.Redis, ledger: Ledger) -> Labeller:
    batches: Batches[LessonTask, Percentages] = Batches(
        LEARN, "labels", redis_client, ledger, 0, most=3, said=Percentages
    )
    return Labeller(judge, unmetered, batches=batches)


def lessons(*numbers: int) -> list[LessonTask]:
    return [labelled("50 shared", f"{number} own", memory=f"memory {number}") for number in numbers]


def open_all(tasks: Sequence[LessonTask], ledger: Ledger) -> None:
    for task in tasks:
        ledger.open(LEARN.next(task, task.journey).entry())


def wait(labeller: Labeller, task: LessonTask, client: redis.Redis) -> NotYet:
    """A message is told to wait, and does so beside its queue."""
    with pytest.raises(NotYet) as told:
        labeller.label(task)
    client.zadd(PARKED, {LEARN.next(task, task.journey).id: 1e12})
    return told.value


@pytest.fixture
def asked(labeller: Labeller, ledger: Ledger, redis_client: redis.Redis) -> list[LessonTask]:
    """Three lessons that share a call, which the first has deferred."""
    some = lessons(1, 2, 3)
    open_all(some, ledger)
    waiting = Batches[LessonTask, Percentages](LEARN, "labels", redis_client, ledger, 60, most=3, said=Percentages)
    early = Labeller(DeferredJudge(), unmetered, batches=waiting)
    for task in some[1:]:
        wait(early, task, redis_client)
    assert isinstance(wait(labeller, some[0], redis_client), Deferred)
    return some


def test_a_reply_is_about_those_that_were_asked_about_whoever_came_since(
    asked: list[LessonTask], labeller: Labeller, judge: DeferredJudge, ledger: Ledger, redis_client: redis.Redis
) -> None:
    late = lessons(4, 5)
    open_all(late, ledger)
    assert [wait(labeller, one, redis_client).wait for one in asked[1:]] == [DEFERRED_AGAIN] * 2
    assert isinstance(wait(labeller, late[0], redis_client), Deferred)
    judge.has_ended = True

    first = labeller.label(asked[0])

    assert len(document(judge.conversations[0])["tasks"]) == 3
    assert [redis_client.zscore(PARKED, LEARN.next(one, one.journey).id) for one in asked[1:]] == [0, 0]
    assert [first.values, *(labeller.label(one).values for one in asked[1:])] == [
        (0.5, 0.01), (0.5, 0.02), (0.5, 0.03),
    ]  # fmt: skip
    assert len(judge.conversations) == 1
    assert labeller.label(late[0]).values == (0.5, 0.04)


def test_those_whose_batch_brought_nothing_stay_together_until_the_model_can_be_asked(
    asked: list[LessonTask], labeller: Labeller, judge: DeferredJudge, redis_client: redis.Redis
) -> None:
    judge.is_busy = True
    assert wait(labeller, asked[0], redis_client).hold == "server scripted"
    assert wait(labeller, asked[1], redis_client).wait == DEFERRED_AGAIN

    judge.is_busy, judge.has_ended = False, True
    assert labeller.label(asked[0]).values == (0.5, 0.01)
    assert len(document(judge.conversations[0])["tasks"]) == 3


def test_it_is_remembered_for_as_long_as_a_batch_may_take(asked: list[LessonTask], redis_client: redis.Redis) -> None:
    kept = [redis_client.ttl(key) for key in redis_client.scan_iter("memshare:labels_*:*")]

    assert len(kept) == 1 + len(asked), "who was asked about, and the state of each"
    assert min(kept) > 2 * 86_400


def test_where_the_message_that_asked_is_gone_the_others_ask_for_themselves(
    asked: list[LessonTask], labeller: Labeller, judge: DeferredJudge, ledger: Ledger, redis_client: redis.Redis
) -> None:
    ledger.bury(LEARN.next(asked[0], asked[0].journey).entry(), "{}")

    assert isinstance(wait(labeller, asked[1], redis_client), Deferred)
    judge.has_ended = True
    assert labeller.label(asked[1]).values == (0.5, 0.02)


def test_what_was_refused_together_is_deferred_one_by_one(
    labeller: Labeller, judge: DeferredJudge, ledger: Ledger, redis_client: redis.Redis
) -> None:
    one, bad = lessons(1)[0], labelled("50 shared", f"9 {UNSPEAKABLE}", memory="bad")
    open_all([one, bad], ledger)
    waiting = Batches[LessonTask, Percentages](LEARN, "labels", redis_client, ledger, 60, most=3, said=Percentages)
    wait(Labeller(judge, unmetered, batches=waiting), bad, redis_client)
    wait(labeller, one, redis_client)
    judge.has_ended = True

    assert isinstance(wait(labeller, one, redis_client), Deferred), "by itself, in another batch"
    assert isinstance(wait(labeller, bad, redis_client), Deferred)
    assert labeller.label(one).values == (0.5, 0.01)
    assert [len(document(turns)["tasks"]) for turns in judge.deferred] == [2, 1, 1]


def test_a_lesson_that_waits_for_labels_keeps_its_vectors_in_its_message_alone(
    ledger: Ledger, redis_client: redis.Redis
) -> None:
    [task] = lessons(1)
    vector = Embedding.pack("words", np.ones(384, np.float32))
    candidates = [one.model_copy(update={"embedding": vector}) for one in task.candidates * 10]
    task = task.model_copy(update={"embedding": vector, "candidates": tuple(candidates)})
    open_all([task], ledger)
    batches: Batches[LessonTask, Percentages] = Batches(LEARN, "labels", redis_client, ledger, 60, said=Percentages)

    wait(Labeller(DeferredJudge(), unmetered, batches=batches), task, redis_client)

    [waiting] = redis_client.keys("memshare:labels_waiting:*")
    assert vector.data in redis_client.hvals(MESSAGES)[0]
    assert len(redis_client.zrange(waiting, 0, -1)[0]) < len(redis_client.hvals(MESSAGES)[0]) / 8
    batches.leave(task)
    assert not redis_client.exists(waiting)
