"""Lessons wait for each other, to be labelled in one call; none is lost on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import redis

from memshare_broker.delivery.hops import LEARN
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.schema import PARKED
from memshare_broker.errors import NotYet, TryAgain
from memshare_broker.wire.lessons import Lesson, LessonTask
from memshare_broker.wire.messages import Usage
from memshare_llm.batches import Batches
from memshare_llm.chat import RefusedReply
from memshare_trainer.labels import Labeller, Labels
from memshare_trainer.learn import LearnStage
from memshare_trainer.percentages import Percentages
from tests.support.judge import UNSPEAKABLE, USAGE, LabelsByAnswer, document, labelled
from tests.support.lessons import ENCODER, lesson

Made = Callable[..., Labeller]


class FormJudge(LabelsByAnswer):
    """Knows that an example helps where its prompt begins as the task's does."""

    def misleads(self, prompt: str, example: tuple[str, str]) -> int:
        return 10 if prompt.split()[0] == example[0].split()[0] else 90


@pytest.fixture
def chat() -> LabelsByAnswer:
    return LabelsByAnswer(lambda answer: int(answer.split()[0]))


@pytest.fixture
def ledger(redis_client: redis.Redis) -> Ledger:
    return Ledger(redis_client, 1)


@pytest.fixture
def shared(redis_client: redis.Redis, ledger: Ledger) -> Callable[..., Batches[LessonTask, Percentages]]:
    def batches(wait: float = 60, most: int = 10) -> Batches[LessonTask, Percentages]:
        return Batches(LEARN, "labels", redis_client, ledger, wait, most=most, said=Percentages)

    return batches


@pytest.fixture
def make(chat: LabelsByAnswer, shared: Callable[..., Batches[LessonTask, Percentages]]) -> Made:
    return lambda **how: Labeller(chat, batches=shared(**how))


def numbered(*numbers: int, submitter: str = "ada") -> list[LessonTask]:
    """Lessons with candidates of their own, and one that all share."""
    return [
        labelled("50 shared", f"{number} own", memory=f"memory {number}").model_copy(update={"submitter": submitter})
        for number in numbers
    ]


def wait(labeller: Labeller, tasks: Sequence[LessonTask], client: redis.Redis) -> list[float]:
    """For how many seconds each is told to wait; its message waits beside its queue."""
    seconds = []
    for task in tasks:
        with pytest.raises(NotYet) as told:
            labeller.label(task)
        client.zadd(PARKED, {LEARN.next(task, task.journey).id: 1e12})
        seconds.append(told.value.wait)
    return seconds


def woken(client: redis.Redis, tasks: Sequence[LessonTask]) -> list[bool]:
    return [client.zscore(PARKED, LEARN.next(task, task.journey).id) == 0 for task in tasks]


def test_ten_lessons_share_a_call_and_each_gets_its_own_labels(
    make: Made, chat: LabelsByAnswer, redis_client: redis.Redis
) -> None:
    some, labeller = numbered(*range(10)), make()

    assert wait(labeller, some[:-1], redis_client) == pytest.approx([60] * 9, abs=5)
    last = labeller.label(some[-1])
    assert woken(redis_client, some[:-1]) == [True] * 9
    found = [*(labeller.label(task) for task in some[:-1]), last]

    [turns] = chat.conversations
    assert len(document(turns)["texts"]) == 11, "the shared one, and each one's own"
    assert [one.values for one in found] == [(0.5, number / 100) for number in range(10)]
    assert sum((one.usage for one in found), Usage()) == USAGE


def test_as_many_share_a_call_as_the_settings_say(make: Made, chat: LabelsByAnswer, redis_client: redis.Redis) -> None:
    some = numbered(1, 2, 3)

    wait(make(most=3), some[:-1], redis_client)
    make(most=3).label(some[-1])
    make(most=1).label(*numbered(4))

    assert [len(document(turns)["tasks"]) for turns in chat.conversations] == [3, 1]


def test_where_little_comes_a_lesson_waits_no_longer_than_the_settings_say(
    make: Made, chat: LabelsByAnswer, redis_client: redis.Redis
) -> None:
    one, two = numbered(1, 2)
    wait(make(), [one, two], redis_client)

    assert make(wait=0).label(one).values == (0.5, 0.01)
    assert make(wait=0).label(two).values == (0.5, 0.02)

    assert len(chat.conversations) == 1


def test_those_of_another_submitter_pay_for_themselves(
    make: Made, chat: LabelsByAnswer, redis_client: redis.Redis
) -> None:
    own, other = numbered(1, 2), numbered(3, submitter="bob")
    wait(make(), [*own, *other], redis_client)

    make(wait=0).label(own[0])

    assert len(document(chat.conversations[0])["tasks"]) == 2


def test_what_the_model_will_not_speak_of_keeps_no_other_lesson_from_its_labels(
    make: Made, chat: LabelsByAnswer, redis_client: redis.Redis
) -> None:
    one, two = numbered(1, 2)
    bad = labelled("50 shared", f"9 {UNSPEAKABLE}", memory="bad")
    wait(make(), [one, bad, two], redis_client)

    assert make(wait=0).label(one).values == (0.5, 0.01)
    with pytest.raises(RefusedReply):
        make().label(bad)
    assert make().label(two).values == (0.5, 0.02)
    assert len(chat.conversations) == 4, "together, and each by itself"


def test_where_the_model_is_away_all_wait_again_and_share_a_call_later(
    make: Made, chat: LabelsByAnswer, redis_client: redis.Redis
) -> None:
    one, two = numbered(1, 2)
    wait(make(), [one, two], redis_client)

    chat.away = True
    with pytest.raises(TryAgain):
        make(wait=0).label(one)
    chat.away = False

    assert [make(wait=0).label(task).values[1] for task in (two, one)] == [0.02, 0.01]
    assert len(chat.conversations) == 1


def test_a_call_whose_worker_was_killed_is_made_again_and_one_that_is_under_way_is_not(
    make: Made, shared: Callable[..., Batches[LessonTask, Percentages]], chat: LabelsByAnswer, ledger: Ledger,
    redis_client: redis.Redis,
) -> None:  # fmt: skip
    one, two = numbered(1, 2)
    entry = LEARN.next(one, one.journey).entry()
    wait(make(), [one, two], redis_client)
    ledger.open(entry)
    ledger.begin(entry, "a worker")
    assert [waiting.task.journey for waiting in shared(wait=0).gather(one)] == [one.journey, two.journey]

    assert wait(make(wait=0), [two], redis_client) == [2]
    redis_client.delete("memshare:lives")  # as the sweeper does when the worker is gone

    assert make(wait=0).label(two).values == (0.5, 0.02)
    assert make(wait=0).label(one).values == (0.5, 0.01)
    assert chat.conversations


def test_labels_that_came_before_a_kill_are_not_paid_for_again(
    make: Made, chat: LabelsByAnswer, redis_client: redis.Redis
) -> None:
    one, two = numbered(1, 2)
    wait(make(), [two], redis_client)

    first = make(wait=0).label(one)
    again = make().label(one)

    assert first == again == Labels((0.5, 0.01), "json", first.usage, model=chat.name)
    assert len(chat.conversations) == 1


def test_lessons_that_shared_a_call_are_learnt_each_from_its_own_labels(
    shared: Callable[..., Batches[LessonTask, Percentages]], redis_client: redis.Redis
) -> None:
    chat = FormJudge(int)
    learn = LearnStage(redis_client, Labeller(chat, batches=shared(most=4)), kept=200, keep_days=1)
    tasks = [lesson(number) for number in range(4)]

    for task in tasks[:-1]:
        with pytest.raises(NotYet):
            learn.run(task.journey, task)
    records = [learn.run(task.journey, task).record for task in reversed(tasks)]

    assert len(chat.conversations) == 1
    assert {task.embedding.encoder for task in tasks} == {ENCODER}
    for record in records:
        assert isinstance(record, Lesson)
        assert (record.outcome, record.positives, record.negatives) == ("learnt", 4, 4)
