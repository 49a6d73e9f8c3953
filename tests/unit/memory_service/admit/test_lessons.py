from __future__ import annotations

import functools
import math
from uuid import UUID

import pytest
import redis

from memshare.broker.wire.lessons import Lesson, LessonTask
from memshare.memory_service.admit.lesson_share import lesson_share, never
from memshare.memory_service.admit.lessons import LEAST_SHARE as LEAST_OF_ALL
from memshare.memory_service.admit.lessons import Lessons, worth_learning
from memshare.memory_service.admit.settle import Settle
from memshare.memory_service.pool.pool import Pool
from memshare.memory_service.recall.recall import Recall
from memshare.retriever_trainer.kept_pace import KeptPace
from memshare.retriever_trainer.pace import AGAIN, LEAST_SHARE, WINDOW
from tests.support.graded import graded
from tests.support.memories import remembered


def test_a_lesson_says_whose_task_it_came_from(recall: Recall, pool: Pool, redis_client: redis.Redis) -> None:
    stage = Settle(pool, redis_client, Lessons(share=1))
    pairs = [graded(recall, f"A lamp {number}", f"Verse {number}", journey=f"journey-{number}") for number in range(3)]

    following = [stage.run(pair.task.journey, pair).followings for pair in pairs][-1][0]

    assert isinstance(following.body, LessonTask)
    assert (following.body.agent, following.body.submitter) == (pairs[-1].task.agent, pairs[-1].task.submitter)
    assert following.body.agent == "poem"


def lessons_of(stage: Settle, recall: Recall, numbers: range) -> list[UUID]:
    """The memories that became lessons of these tasks."""
    pairs = [graded(recall, f"A lamp {one}", f"Verse {one}", journey=f"journey-{one}") for one in numbers]
    followings = [one for pair in pairs for one in stage.run(pair.task.journey, pair).followings]
    return [one.body.memory_id for one in followings if isinstance(one.body, LessonTask)]


def test_as_many_memories_become_lessons_as_the_trainer_found_them_worth(
    recall: Recall, pool: Pool, redis_client: redis.Redis
) -> None:
    stage = Settle(pool, redis_client, Lessons(1.0, functools.partial(lesson_share, redis_client)))
    assert len(lessons_of(stage, recall, range(12))) == 10  # the first two have too few candidates

    for _ in range(2 * WINDOW):
        KeptPace(redis_client, "poem", recall.encoder_name).note(Lesson(outcome="no update", reason="all help"))

    thinned = lessons_of(stage, recall, range(12, 112))
    assert 0 < len(thinned) < 20
    assert all(one.int % 10_000 < LEAST_SHARE * 10_000 for one in thinned)


def test_ever_fewer_memories_of_a_grown_pool_become_lessons_and_more_again_when_it_drifts() -> None:
    usual = [worth_learning(size, 0.3, 1.0) for size in (199, 200, 400, 800, 100_000)]

    assert usual == pytest.approx([1.0, 0.3, 0.15, 0.075, LEAST_OF_ALL])
    assert worth_learning(400, 0.3, 1 / 2) == pytest.approx(0.075)
    assert worth_learning(400, 0.3, LEAST_SHARE) == worth_learning(100_000, 0.3, LEAST_SHARE) == LEAST_OF_ALL
    assert worth_learning(100_000, 0.3, AGAIN) == pytest.approx(4 / 16)
    assert worth_learning(400, 0.3, AGAIN) == 0.3
    assert worth_learning(100, 0.3, AGAIN) == worth_learning(100_000, 1.0, math.inf) == 1
    assert worth_learning(100_000, 0.0, AGAIN) == worth_learning(100_000, 0.3, 0.0) == 0


def test_the_size_of_a_pool_is_that_of_a_moment_ago(recall: Recall, pool: Pool, redis_client: redis.Redis) -> None:
    for number in range(199):
        memory = remembered(f"A shoe {number}", answer=f"Sole {number}")[0]
        recall.store.put([(memory, recall.vectors([memory])[0])])
    stage = Settle(pool, redis_client, Lessons(0.1, functools.partial(lesson_share, redis_client)))

    became = len(lessons_of(stage, recall, range(60)))

    assert 0 < became < 30, "it had 200 memories after the first of them, or within the next ten"


def test_where_nobody_is_to_learn_no_memory_becomes_a_lesson(
    recall: Recall, pool: Pool, redis_client: redis.Redis
) -> None:
    stage = Settle(pool, redis_client, Lessons(1.0, never))

    assert lessons_of(stage, recall, range(6)) == []
