"""The cards of one person, in Redis. An answer is there as soon as it was typed, so nobody loses one by Ctrl-C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast
from uuid import UUID

import redis

from memshare_concepts.reviews.card import Card, Grade, Review, Ungraded
from memshare_memory.forget.reviews import CARDS, PEOPLE, UNGRADED


class CardStore:
    """All cards of one person."""

    def __init__(self, client: redis.Redis, person: str) -> None:
        self.client = client
        self._person = person
        self._key = CARDS + person
        self._ungraded = UNGRADED + person

    def cards(self, pool: str | None = None) -> dict[UUID, Card]:
        """The cards of a pool, or of all pools, by memory."""
        kept = self.client.hgetall(self._key)
        cards = {UUID(str(one)): Card.model_validate_json(text) for one, text in kept.items()}
        return {one: card for one, card in cards.items() if pool is None or card.pool == pool}

    def ungraded(self, pool: str) -> list[Ungraded]:
        """What the person typed before they were stopped, and nobody graded."""
        kept = [Ungraded.model_validate_json(text) for text in self.client.hvals(self._ungraded)]
        return [one for one in kept if one.pool == pool]

    def note_answer(self, one: Ungraded) -> None:
        """Keep what the person typed until it is graded."""
        with self.client.pipeline() as change:
            change.sadd(PEOPLE, self._person)
            change.hset(self._ungraded, str(one.memories[0]), one.model_dump_json())
            change.execute()

    def review(self, pool: str, memories: Sequence[UUID], grade: Grade, at: float) -> dict[UUID, Card]:
        """Note how well the person remembered these memories; returns their cards as they are now.

        All at once, also while the same person answers elsewhere.
        """
        names = [str(one) for one in memories]
        review = Review(grade=grade, at=at)
        changed: list[Card] = []

        def written(pipeline: redis.client.Pipeline) -> None:
            kept = cast("list[str | None]", pipeline.hmget(self._key, names))
            cards = [Card.model_validate_json(text) if text else Card(pool=pool) for text in kept]
            changed[:] = [card.model_copy(update={"reviews": (*card.reviews, review)}) for card in cards]
            pipeline.multi()
            pipeline.sadd(PEOPLE, self._person)
            texts = [card.model_dump_json() for card in changed]
            pipeline.hset(self._key, mapping=dict(zip(names, texts, strict=True)))
            pipeline.hdel(self._ungraded, names[0])

        self.client.transaction(written, self._key)
        return dict(zip(memories, changed, strict=True))
