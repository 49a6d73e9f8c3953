from __future__ import annotations

import redis

from memshare.broker.wire.lessons import LessonTask
from memshare.memory_service.admit.lessons import Lessons
from memshare.memory_service.admit.settle import Settle
from memshare.memory_service.pool.pool import Pool
from memshare.memory_service.recall.recall import Recall
from tests.support.graded import graded


def test_a_lesson_says_whose_task_it_came_from(recall: Recall, pool: Pool, redis_client: redis.Redis) -> None:
    stage = Settle(pool, redis_client, Lessons(share=1))
    pairs = [graded(recall, f"A lamp {number}", f"Verse {number}", journey=f"journey-{number}") for number in range(3)]

    following = [stage.run(pair.task.journey, pair).followings for pair in pairs][-1][0]

    assert isinstance(following.body, LessonTask)
    assert (following.body.agent, following.body.submitter) == (pairs[-1].task.agent, pairs[-1].task.submitter)
    assert following.body.agent == "poem"
