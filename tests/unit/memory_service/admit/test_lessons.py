from __future__ import annotations

from uuid import UUID

import pytest
import redis

from memshare_broker.wire.lessons import LessonTask
from memshare_memory.admit.after import ALL_UNTIL, FEWEST_CANDIDATES, LEAST_SHARE, Lessons, worth_learning
from memshare_memory.admit.settle import SettleStage
from memshare_memory.belief.trust import retriever_key
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import Recall
from tests.support.graded import graded


def lessons_of(stage: SettleStage, recall: Recall, numbers: range) -> list[LessonTask]:
    """What the trainer is told of these tasks."""
    pairs = [graded(recall, f"A lamp {one}", f"Verse {one}", journey=f"journey-{one}") for one in numbers]
    followings = [one for pair in pairs for one in stage.run(pair.task.journey, pair).followings]
    return [one.body for one in followings if isinstance(one.body, LessonTask)]


def test_a_lesson_says_whose_task_it_came_from(recall: Recall, pool: Pool, redis_client: redis.Redis) -> None:
    [lesson] = lessons_of(
        SettleStage(pool, redis_client, Lessons(redis_client, 1)), recall, range(FEWEST_CANDIDATES + 1)
    )

    assert (lesson.agent, lesson.submitter, lesson.journey) == ("poem", "ada", f"journey-{FEWEST_CANDIDATES}")


def test_all_memories_become_lessons_until_the_retriever_has_had_many(
    recall: Recall, pool: Pool, redis_client: redis.Redis
) -> None:
    stage = SettleStage(pool, redis_client, Lessons(redis_client, 0.25))
    assert len(lessons_of(stage, recall, range(12))) == 12 - FEWEST_CANDIDATES

    redis_client.hset(retriever_key("poem", recall.encoder_name, "state"), "counted", 10 * ALL_UNTIL)

    thinned: list[UUID | None] = [one.memory_id for one in lessons_of(stage, recall, range(12, 112))]
    assert 0 < len(thinned) < 20
    assert all(one is not None and one.int % 10_000 < LEAST_SHARE * 10_000 for one in thinned)


def test_ever_fewer_memories_become_lessons_of_a_retriever_that_has_had_many() -> None:
    usual = [worth_learning(lessons, 0.3) for lessons in (0, 199, 200, 400, 800, 100_000)]

    assert usual == pytest.approx([1, 1, 0.3, 0.15, 0.075, LEAST_SHARE])
    assert worth_learning(100_000, 0.01) == 0.01, "no more than what was asked for"
    assert worth_learning(200, 0) == 0


def test_ever_fewer_memories_become_lessons_where_labels_teach_nothing(
    recall: Recall, pool: Pool, redis_client: redis.Redis
) -> None:
    assert [worth_learning(0, 1, in_vain) for in_vain in (0, 5, 10, 20, 1_000)] == [1, 1, 0.5, 0.25, LEAST_SHARE]
    stage = SettleStage(pool, redis_client, Lessons(redis_client, 1))
    lessons_of(stage, recall, range(FEWEST_CANDIDATES))

    redis_client.set(retriever_key("poem", recall.encoder_name, "in_vain"), 50)

    assert 0 < len(lessons_of(stage, recall, range(10, 110))) < 30


def test_where_nobody_is_to_learn_no_memory_becomes_a_lesson(
    recall: Recall, pool: Pool, redis_client: redis.Redis
) -> None:
    stage = SettleStage(pool, redis_client, Lessons(redis_client, 1, learn=False))

    assert lessons_of(stage, recall, range(12)) == []
