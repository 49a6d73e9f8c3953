"""One line of a retriever's history."""

from __future__ import annotations

from uuid import UUID

from memshare.broker.wire.lessons import Lesson
from memshare.broker.wire.messages import Message


class Update(Message):
    """What became of one lesson, when (Unix time in seconds), and how many had been counted by then."""

    at: float
    memory_id: UUID
    counted: int
    lesson: Lesson
