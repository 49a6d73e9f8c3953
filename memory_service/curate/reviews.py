"""Where Redis keeps what people learn and ask of pools, and how it goes with the memories and the people."""

from __future__ import annotations

import json
from collections.abc import Collection
from uuid import UUID

import redis

PEOPLE = "memshare:review:people"
"""Set: everybody who has cards."""
CARDS = "memshare:review:cards:"
"""Of a person, a hash: memory → what they said of it and when."""
UNGRADED = "memshare:review:ungraded:"
"""Of a person, a hash: the first memory that a question needs → JSON of all of them, and what the person answered."""
PARAMETERS = "memshare:review:parameters"
"""Hash: person → how fast they forget, as it was fitted to their reviews."""

ASKING = "memshare:concepts:asking:"
"""Of a person, a hash: pool → JSON of the new questions on which they have not decided yet."""


def drop_cards(client: redis.Redis, memories: Collection[UUID]) -> None:
    """Remove the cards of memories that are no more, whoever has them, and the questions that needed one of them."""
    if not memories:
        return
    names = {str(one) for one in memories}
    for person in map(str, client.smembers(PEOPLE)):
        client.hdel(CARDS + person, *names)
        ungraded = client.hgetall(UNGRADED + person).items()
        if needed := [str(one) for one, text in ungraded if not names.isdisjoint(json.loads(text)["memories"])]:
            client.hdel(UNGRADED + person, *needed)


def forget_person(client: redis.Redis, person: str) -> None:
    """Remove all that is known of what a person has learnt, and the questions that they were deciding on."""
    client.delete(CARDS + person, UNGRADED + person, ASKING + person)
    client.hdel(PARAMETERS, person)
    client.srem(PEOPLE, person)
