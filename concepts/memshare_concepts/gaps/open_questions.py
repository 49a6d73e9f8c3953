"""Questions that the memories of a pool could not answer: gaps that somebody ran into, kept in Redis."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal
from uuid import UUID

import redis

from memshare_broker.wire.forms import Moment
from memshare_broker.wire.messages import Message
from memshare_concepts.names import key

Kind = Literal["unexplained", "thin", "unconnected", "asked"]


@dataclass(frozen=True)
class Gap:
    """Something that a pool lacks."""

    kind: Kind
    """`unexplained`: a concept that memories name and none is about; `thin`: a cluster of few memories;
    `unconnected`: two clusters that are close and have no concept in common; `asked`: a question that the memories
    could not answer."""
    names: tuple[str, ...]
    """The concept, what the clusters are called, or the question."""
    score: float
    """Within its kind, how likely it is that something is missing; above 0."""
    reason: str
    memories: tuple[UUID, ...]
    """Where it shows: the memories that name the concept, or those of the clusters."""
    clusters: tuple[int, ...] = ()

    @property
    def id(self) -> str:
        """Id that stays the same as the pool grows, so that a dismissed gap stays dismissed."""
        if self.kind == "asked":  # a question is too long to be typed
            return f"asked:{blake2b(key(self.names[0]).encode(), digest_size=5).hexdigest()}"
        return ":".join([self.kind, *sorted(key(name) for name in self.names)])


def ranked(gaps: Iterable[Gap]) -> list[Gap]:
    """Gaps by falling score, of equals by their id."""
    return sorted(gaps, key=lambda gap: (-gap.score, gap.id))


QUESTIONS = "memshare:concepts:questions:"
"""Of a pool, a hash: id of a gap → JSON of the question."""

MOST = 500
"""Of a pool; the oldest go first."""


class OpenQuestion(Message):
    """A question that is open, what somebody wanted to know when it came up, and the task that an agent was given."""

    question: str
    wanted: str
    at: Moment
    journey: str | None = None

    @property
    def gap(self) -> Gap:
        """It as a gap of its pool."""
        return Gap("asked", (self.question,), self.at, f"{self.question} {self.why}", ())

    @property
    def why(self) -> str:
        """Why it is open."""
        return f"Somebody asked {self.wanted!r}, and the memories did not suffice."


class OpenQuestions:
    """The open questions of one pool."""

    def __init__(self, client: redis.Redis, pool: str) -> None:
        self._client = client
        self._key = QUESTIONS + pool

    def all(self) -> list[OpenQuestion]:
        """The open questions, the newest first."""
        found = [OpenQuestion.model_validate_json(text) for text in self._client.hvals(self._key)]
        return sorted(found, key=lambda question: (-question.at, question.question))

    def add(self, questions: Iterable[str], wanted: str, at: float) -> None:
        """Keep questions that came up when somebody wanted to know something; the same again is one that waits."""
        made = [OpenQuestion(question=question, wanted=wanted, at=at) for question in questions]
        if made:
            self._client.hset(self._key, mapping={question.gap.id: question.model_dump_json() for question in made})
            self.drop(question.gap for question in self.all()[MOST:])

    def give(self, question: OpenQuestion, journey: str | None) -> None:
        """Note the task by which an agent was asked a question, or that none was."""
        given = question.model_copy(update={"journey": journey})
        self._client.hset(self._key, question.gap.id, given.model_dump_json())

    def drop(self, gaps: Iterable[Gap]) -> None:
        """Take out questions that were answered."""
        ids = [gap.id for gap in gaps]
        if ids:
            self._client.hdel(self._key, *ids)
