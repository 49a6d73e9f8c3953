"""The trainer lets held-out lessons decide on feedback, and learns on where that cannot be done now."""

from __future__ import annotations

import logging
from uuid import UUID

import numpy as np
import pytest
import redis

from memshare.broker.settings import Settings
from memshare.memory_service.door.client import MemoryClient
from memshare.memory_service.recall.retriever import feedback_key
from memshare.retriever_trainer.feedback_gate import FEWEST_LESSONS
from memshare.retriever_trainer.feedback_switch import FeedbackSwitch
from memshare.retriever_trainer.kept_lesson import KeptLesson
from memshare.retriever_trainer.learn import Learn
from memshare.retriever_trainer.lesson_log import LessonLog
from tests.support.lessons import DIMENSION, ENCODER, FormLabeller, lesson


class Noting:
    """Notes at how many lessons it was told to look."""

    def __init__(self) -> None:
        self.looked: list[int] = []

    def look_again(self, lessons: LessonLog) -> None:
        self.looked.append(lessons.head().counted)


def test_a_held_out_lesson_is_the_time_to_look(redis_client: redis.Redis) -> None:
    switch = Noting()
    learn = Learn(redis_client, FormLabeller(), kept=200, keep_days=1, feedback=switch)  # type: ignore[arg-type]

    for number in [*range(21), 9]:
        task = lesson(number)
        learn.run(task.journey, task)

    assert switch.looked == [10, 20]  # and not when a message comes twice


def test_a_memory_service_that_is_away_changes_nothing(
    redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    lessons = LessonLog(redis_client, "poem", ENCODER, kept=2_000, keep_days=1)
    ids = tuple(UUID(int=number) for number in range(3))
    kept = [
        KeptLesson(
            number=10 * number, memory_id=ids[0], labelled_by="json", labels={ids[1]: 0.1, ids[2]: 0.9},
            positives=ids[1:2], negatives=ids[2:], vectors="",
        )
        for number in range(1, FEWEST_LESSONS + 1)
    ]  # fmt: skip
    lessons.begin_with(kept, 10 * FEWEST_LESSONS, np.zeros((DIMENSION, DIMENSION), np.float32))
    redis_client.set(feedback_key("poem", ENCODER), before := '{"way": "words"}')

    with caplog.at_level(logging.WARNING):
        FeedbackSwitch(redis_client, MemoryClient(Settings(memory_url="http://127.0.0.1:1"))).look_again(lessons)

    assert "is decided on later" in caplog.text
    assert redis_client.get(feedback_key("poem", ENCODER)) == before
