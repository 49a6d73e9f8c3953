"""Switches a pool's feedback on and off: what its held-out lessons say, or a person."""

from __future__ import annotations

import logging
import time
from typing import NamedTuple
from uuid import UUID

import redis

from memshare.broker.errors import TryAgain
from memshare.broker.wire.messages import MAX_MEMORIES
from memshare.memory_service.door.client import MemoryClient
from memshare.memory_service.door.messages import RecallRequest
from memshare.memory_service.recall.feedback import FeedbackInUse, Way, read
from memshare.memory_service.recall.retriever import feedback_key
from memshare.memory_service.stores.store import Where
from memshare.retriever_trainer.feedback_gate import FEWEST_LESSONS, Gain, decide, gains
from memshare.retriever_trainer.kept_lesson import KeptLesson
from memshare.retriever_trainer.lesson_log import LessonLog
from memshare.retriever_trainer.reservoir import HELD_OUT_EVERY

log = logging.getLogger(__name__)

EVERY = 5  # held-out lessons


class Decision(NamedTuple):
    """What each way of feedback would gain, and the one that is used from now on, if any."""

    gains: list[Gain]
    chosen: Gain | None


class FeedbackSwitch:
    """Recalls the candidates of held-out lessons with and without feedback, and notes what ranks them better."""

    def __init__(self, client: redis.Redis, memories: MemoryClient) -> None:
        self._client = client
        self._memories = memories

    def decide(self, lessons: LessonLog) -> Decision:
        """Switch on what ranks better for sure, or else off; raises `TryAgain` where the memory service is away."""

        def order(lesson: KeptLesson, way: Way) -> list[UUID] | None:
            return self._order(lessons.pool, lesson, way)

        found = gains(lessons.held_out(), order)
        chosen = decide(found)
        if chosen is None:
            self._client.delete(feedback_key(lessons.pool, lessons.encoder))
        else:
            self._note(lessons, chosen)
        log.info("Recalls of pool %s feed back %s.", lessons.pool, chosen.way if chosen else "nothing")
        return Decision(found, chosen)

    def switch_off(self, lessons: LessonLog) -> None:
        """Feed nothing back until a person asks for a decision again."""
        self._note(lessons, Gain("off", 0.0, 0.0, 0.0, 0))

    def look_again(self, lessons: LessonLog) -> None:
        """Decide anew after every fifth held-out lesson, unless a person has switched it off."""
        held_out = lessons.head().counted // HELD_OUT_EVERY
        if held_out < FEWEST_LESSONS or held_out % EVERY:
            return
        in_use = read(self._client.get(feedback_key(lessons.pool, lessons.encoder)), lessons.pool)
        if in_use and in_use.way == "off":
            return
        try:
            self.decide(lessons)
        except TryAgain as error:
            log.warning("Feedback of pool %s is decided on later: %s", lessons.pool, error)

    def _order(self, pool: str, lesson: KeptLesson, way: Way) -> list[UUID] | None:
        """The candidates, and no other memory, as a recall finds them; None where the lesson's memory is forgotten."""
        there = self._memories.judge([lesson.memory_id])
        if not there:
            return None
        request = RecallRequest(
            pool=pool,
            text=there[0].memory.key,
            k=min(len(lesson.labels), MAX_MEMORIES),
            among=Where(ids=tuple(lesson.labels)),
            feedback=way,
        )
        return [one.memory.id for one in self._memories.recall(request).found]

    def _note(self, lessons: LessonLog, gain: Gain) -> None:
        noted = FeedbackInUse(
            way=gain.way,
            before=gain.before,
            after=gain.after,
            lessons=gain.lessons,
            version=lessons.head().version,
            decided=time.time(),
        )
        self._client.set(feedback_key(lessons.pool, lessons.encoder), noted.model_dump_json())
