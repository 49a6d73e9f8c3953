from __future__ import annotations

import redis

from broker.lessons import LessonTask
from memory_service.lessons import Lessons
from memory_service.pool import Pool
from memory_service.recall import Recall
from memory_service.settle import Settle
from tests.support.graded import graded


def test_a_lesson_says_whose_task_it_came_from(recall: Recall, pool: Pool, redis_client: redis.Redis) -> None:
    stage = Settle(pool, redis_client, Lessons(share=1))
    pairs = [graded(recall, f"A lamp {number}", f"Verse {number}", journey=f"journey-{number}") for number in range(3)]

    following = [stage.run(pair.task.journey, pair).following for pair in pairs][-1]

    assert following is not None
    assert isinstance(following.body, LessonTask)
    assert (following.body.agent, following.body.submitter) == (pairs[-1].task.agent, pairs[-1].task.submitter)
    assert following.body.agent == "poem"
