"""Where Redis keeps what people have learnt of memories, and how it goes with the memories and the people."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

import redis

PEOPLE = "memshare:review:people"
"""Set: everybody who has cards."""
CARDS = "memshare:review:cards:"
"""Of a person, a hash: memory → what they said of it and when."""
PARAMETERS = "memshare:review:parameters"
"""Hash: person → how fast they forget, as it was fitted to their reviews."""


def drop_cards(client: redis.Redis, memories: Collection[UUID]) -> None:
    """Remove the cards of memories that are no more, whoever has them."""
    if not memories:
        return
    names = [str(one) for one in memories]
    for person in client.smembers(PEOPLE):
        client.hdel(CARDS + str(person), *names)


def forget_person(client: redis.Redis, person: str) -> None:
    """Remove all that is known of what a person has learnt."""
    client.delete(CARDS + person)
    client.hdel(PARAMETERS, person)
    client.srem(PEOPLE, person)
