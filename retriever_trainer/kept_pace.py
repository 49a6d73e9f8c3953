"""The pace of one retriever's lessons as it is kept in Redis, for all trainers and for the memory service."""

from __future__ import annotations

import redis

from memshare.broker.wire.lessons import Lesson
from memshare.memory_service.admit.lesson_share import pace_key
from memshare.retriever_trainer.pace import Pace


class KeptPace:
    """The pace of one pool and encoder; whoever notes a lesson holds the lease of its log."""

    def __init__(self, client: redis.Redis, pool: str, encoder: str) -> None:
        self._client = client
        self._key = pace_key(pool, encoder)

    def read(self) -> Pace:
        """The pace; that of a beginning where no lesson has been noted."""
        text = self._client.hget(self._key, "pace")
        return Pace.model_validate_json(text) if text else Pace()

    def note(self, lesson: Lesson) -> None:
        """Work out the pace once a lesson is through."""
        pace = self.read().after(lesson)
        self._client.hset(self._key, mapping={"share": pace.share, "pace": pace.model_dump_json()})
