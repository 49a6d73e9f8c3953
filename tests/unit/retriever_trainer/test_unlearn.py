from __future__ import annotations

import numpy as np
import pytest
import redis

from memshare.broker.wire.lessons import LessonTask
from memshare.retriever_trainer.learn import Learn
from memshare.retriever_trainer.lesson_log import LessonLog
from memshare.retriever_trainer.lessons_with import lessons_with
from memshare.retriever_trainer.unlearn import unlearn
from tests.support.lessons import ENCODER, FormLabeller, lesson

CLEAN = 60


@pytest.fixture
def learn(redis_client: redis.Redis) -> Learn:
    return Learn(redis_client, FormLabeller(), kept=200, keep_days=1)  # type: ignore[arg-type]


@pytest.fixture
def log(redis_client: redis.Redis) -> LessonLog:
    return LessonLog(redis_client, "poem", ENCODER, kept=200, keep_days=1)


def teach(learn: Learn, *tasks: LessonTask) -> None:
    for task in tasks:
        learn.run(task.journey, task)


def weights(log: LessonLog) -> np.ndarray:
    published = log.published(log.head().version)
    assert published is not None
    return published.unpack()


def test_a_retriever_is_as_if_it_had_never_been_taught_by_what_is_forgotten(learn: Learn, log: LessonLog) -> None:
    teach(learn, *(lesson(number) for number in range(CLEAN)))
    before, version = weights(log), log.head().version
    poisoned = [lesson(number) for number in range(1_000, 1_030)]
    teach(learn, *poisoned)
    assert not np.array_equal(weights(log), before), "it had learnt from them"

    done = unlearn(log, [task.memory_id for task in poisoned])

    assert np.array_equal(weights(log), before)
    assert (done.lessons, done.version) == (30, log.head().version)
    assert done.version > done.before > version
    assert log.versions() == [done.version], "no version is left that had learnt from them"


def test_a_lesson_that_had_a_forgotten_memory_as_a_candidate_goes_too(learn: Learn, log: LessonLog) -> None:
    teach(learn, *(lesson(number) for number in range(CLEAN)))
    candidate = lesson(7).candidates[3].id

    assert lessons_with(log, [candidate]) == [8]
    assert unlearn(log, [candidate]).lessons == 1
    assert lessons_with(log, [candidate]) == []
    assert len([*log.lessons(), *log.held_out()]) == CLEAN - 1


def test_learning_goes_on_after_it(learn: Learn, log: LessonLog, redis_client: redis.Redis) -> None:
    teach(learn, *(lesson(number) for number in range(CLEAN)))
    done = unlearn(log, [lesson(CLEAN - 1).memory_id])

    teach(learn, *(lesson(number) for number in range(CLEAN, 2 * CLEAN)))

    assert log.head().version > done.version
    assert log.head().counted == 2 * CLEAN
    elsewhere = Learn(redis_client, FormLabeller(), kept=200, keep_days=1)  # type: ignore[arg-type]
    teach(elsewhere, lesson(2 * CLEAN))
    assert log.head().counted == 2 * CLEAN + 1


def test_when_all_is_forgotten_the_retriever_is_untrained(learn: Learn, log: LessonLog) -> None:
    tasks = [lesson(number) for number in range(40)]
    teach(learn, *tasks)
    assert log.head().version > 0

    unlearn(log, [task.memory_id for task in tasks])

    assert (log.head().version, log.versions()) == (0, [])
