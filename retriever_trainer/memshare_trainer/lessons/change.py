"""What a lesson changes, and where a retriever's learning stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from memshare_broker.wire.lessons import Evidence, Lesson
from memshare_broker.wire.messages import Message
from memshare_memory.recall.adapter import PublishedAdapter
from memshare_memory.recall.standings import Standings
from memshare_trainer.lessons.stored_lesson import StoredLesson


class Head(NamedTuple):
    """Where a retriever's learning stands."""

    epoch: int
    """Grows when the past is changed (a version is put back): what a trainer holds in memory is void then."""
    counted: int
    """Lessons, learnt and held out."""
    issued: int
    """The last version's number; no number is used twice."""
    version: int
    """The version in use."""
    checkpoint_at: int
    """Lessons that had been counted when the state was last stored."""
    updates: int = 0
    """Messages that came to something."""
    steps: int = 0
    """How many the learner has made; those after the last stored state are made again."""


class Update(Message):
    """What became of one message, when (Unix time in seconds), and how many had been counted by then."""

    at: float
    memory_id: UUID | None
    counted: int
    lesson: Lesson


class LessonChange(NamedTuple):
    """What a lesson changes."""

    update: Update
    standings: Standings
    kept: StoredLesson | None = None
    evidence: Mapping[str, Evidence] = {}
    """Of those that wait, by their texts."""
    checkpoint: str | None = None
    steps: int = 0
    published: PublishedAdapter | None = None
