"""A round of new questions: what was wanted, what was proposed, and what a person decided of each. It is in Redis, so a
person may stop at any time and go on later."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Annotated, Literal
from uuid import UUID

import redis
from pydantic import Field, StringConstraints

from memshare_broker.wire.messages import Message
from memshare_concepts.asking.target import Target
from memshare_memory.forget.reviews import ASKING, PEOPLE

State = Literal["open", "kept", "dropped", "submitted"]

KEEP_SECONDS = 30 * 86_400

Told = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


class Wanted(Message):
    """What questions are wanted: about what, how many, and what for."""

    target: Target
    count: int = Field(ge=1, le=50)
    topic: Told | None = None
    goal: Told | None = None
    with_known: bool = Field(default=False, description="whether the model is told what the pool asks about it already")


class Near(Message):
    """A memory beside a question, and its cosine to it."""

    id: UUID
    similarity: float


class Proposal(Message):
    """A question that was proposed. Its id is derived from its text."""

    id: str
    question: str
    nearest: tuple[Near, ...]
    state: State = "open"
    task_id: str | None = None

    @classmethod
    def of(cls, question: str, nearest: Sequence[Near]) -> Proposal:
        """A question that nobody has decided on."""
        digest = blake2b(question.encode(), digest_size=4).hexdigest()
        return cls(id=digest, question=question, nearest=tuple(nearest))


class Round(Message):
    """A round of one person with one pool."""

    wanted: Wanted
    proposals: tuple[Proposal, ...]

    def those(self, *states: State) -> list[Proposal]:
        """The proposals in some states, in their order."""
        return [one for one in self.proposals if one.state in states]

    def with_one(self, changed: Proposal) -> Round:
        """The round with one proposal as it is now, found by its id."""
        return self.model_copy(
            update={"proposals": tuple(changed if one.id == changed.id else one for one in self.proposals)}
        )

    def with_edited(self, one: Proposal, edited: Proposal) -> Round:
        """The round with a question as a person wrote it, which is kept; what was proposed is dropped."""
        dropped = self.with_one(one.model_copy(update={"state": "dropped"}))
        kept = edited.model_copy(update={"state": "kept"})
        return dropped.model_copy(update={"proposals": (*dropped.proposals, kept)})

    def with_others(self, fresh: Sequence[Proposal]) -> Round:
        """The round with other questions in place of those that were open, which are dropped."""
        decided = [
            one.model_copy(update={"state": "dropped"}) if one.state == "open" else one for one in self.proposals
        ]
        known = {one.id for one in decided}
        return self.model_copy(update={"proposals": (*decided, *(one for one in fresh if one.id not in known))})


class Rounds:
    """The round of a person with a pool, if there is one. Rounds go 30 days after the last decision of the person."""

    def __init__(self, client: redis.Redis, pool: str, person: str) -> None:
        self._client = client
        self._person = person
        self._key = ASKING + person
        self._pool = pool

    def read(self) -> Round | None:
        """The round that is not finished."""
        text = self._client.hget(self._key, self._pool)
        return Round.model_validate_json(text) if text else None

    def keep(self, one: Round) -> None:
        """Keep a round as it is now."""
        with self._client.pipeline() as change:
            change.sadd(PEOPLE, self._person)
            change.hset(self._key, self._pool, one.model_dump_json())
            change.expire(self._key, KEEP_SECONDS)
            change.execute()

    def end(self) -> None:
        """The round is over."""
        self._client.hdel(self._key, self._pool)
