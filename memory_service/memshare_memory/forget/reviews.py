"""Where Redis keeps what people learn and ask of pools, and how it goes with the memories and the people."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Literal
from uuid import UUID

import redis

PEOPLE = "memshare:review:people"
"""Set: everybody who has cards, or decides on questions."""
CARDS = "memshare:review:cards:"
"""Of a person, a hash: memory → what they said of it and when."""
UNGRADED = "memshare:review:ungraded:"
"""Of a person, a hash: the first memory that a question needs → JSON of all of them, and what the person answered."""
PARAMETERS = "memshare:review:parameters"
"""Hash: person → how fast they forget, as it was fitted to their reviews."""

ASKING = "memshare:concepts:asking:"
"""Of a person, a hash: pool → JSON of the new questions on which they have not decided yet."""

SUMMARIES = "memshare:concepts:summaries:"
"""Of a pool, a hash: digest of a cluster → JSON of its summary: what was `read` for it, and all `members` then."""
SUMMARIZED = "memshare:concepts:summarized"
"""Set: the pools that have summaries."""

QUESTION_CONCEPTS = "memshare:concepts:question:"
"""Of a pool and a question's digest: the concepts that a model named for it, with an end."""

UUID_TEXT = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def drop_cards(client: redis.Redis, memories: Collection[UUID]) -> None:
    """Remove the cards of memories that are no more, whoever has them, and the questions that needed one of them."""
    names = {str(one) for one in memories}
    for person in map(str, client.smembers(PEOPLE)) if names else ():
        client.hdel(CARDS + person, *names)
        _drop_that_name(client, UNGRADED + person, names)


def drop_questions(client: redis.Redis, memories: Collection[UUID]) -> None:
    """Remove the new questions on which people decide, where one of these memories stands behind or beside them."""
    names = {str(one) for one in memories}
    for person in map(str, client.smembers(PEOPLE)) if names else ():
        _drop_that_name(client, ASKING + person, names)


def drop_summaries(client: redis.Redis, memories: Collection[UUID], part: Literal["read", "members"]) -> None:
    """Remove the summaries that were written from one of these memories; with "members", of a cluster that had one."""
    names = {str(one) for one in memories}
    for pool in map(str, client.smembers(SUMMARIZED)) if names else ():
        kept = client.hgetall(SUMMARIES + pool).items()
        if gone := [str(field) for field, text in kept if not names.isdisjoint(json.loads(text)[part])]:
            client.hdel(SUMMARIES + pool, *gone)


def drop_question_concepts(client: redis.Redis) -> None:
    """Remove the concepts of all questions: names among them may be those of a memory that is no more."""
    for key in client.scan_iter(f"{QUESTION_CONCEPTS}*", count=1_000):
        client.delete(key)


def forget_person(client: redis.Redis, person: str) -> None:
    """Remove all that is known of what a person has learnt, and the questions that they were deciding on."""
    client.delete(CARDS + person, UNGRADED + person, ASKING + person)
    client.hdel(PARAMETERS, person)
    client.srem(PEOPLE, person)


def _drop_that_name(client: redis.Redis, key: str, names: Collection[str]) -> None:
    """Remove the fields of a hash whose text has one of these ids."""
    kept = client.hgetall(key).items()
    if gone := [str(field) for field, text in kept if not set(UUID_TEXT.findall(str(text))).isdisjoint(names)]:
        client.hdel(key, *gone)
