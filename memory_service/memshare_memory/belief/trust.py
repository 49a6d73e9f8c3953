"""Trust: a person's word on submitters of a pool, beside what the words on their memories come to."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Literal
from uuid import UUID

import redis
from pydantic import Field

from memshare_broker.wire.messages import Message


class Standing(Message):
    """Standing of a submitter in a pool, from the words about their memories.

    `worth` is in the unit of a cosine, where 0 is the pool's mean, and `error` its standard error. `words` counts what
    people said, each once for a memory, and nobody of their own where others speak, too. Who is `proven` is so
    for what is `near` one of these memories, or for all where none are named.
    """

    worth: float
    error: float
    words: int
    proven: bool = False
    near: tuple[UUID, ...] = ()


class Standings(Message):
    """All submitters of whom something was said in a pool, by name."""

    submitters: dict[str, Standing] = Field(default={})

    @property
    def proven(self) -> dict[str, tuple[UUID, ...]]:
        """Who is, and near what."""
        return {name: standing.near for name, standing in self.submitters.items() if standing.proven}

    @property
    def worth(self) -> dict[str, float]:
        return {name: standing.worth for name, standing in self.submitters.items()}


def retriever_key(pool: str, encoder: str, what: str) -> str:
    """Where something of a pool's retriever lies; another encoder's vectors need an adapter of their own."""
    return f"memshare:retriever:{pool}:{encoder}:{what}"


def waiting_key(pool: str, encoder: str) -> str:
    """Hash: the `Evidence` that the pool's trainer has not learnt from yet, as JSON, by its key."""
    return retriever_key(pool, encoder, "waiting")


def standings_key(pool: str, encoder: str) -> str:
    """Holds the pool's `Standings` as JSON, which come with every update, published or not."""
    return retriever_key(pool, encoder, "standings")


def standings_number_key(pool: str, encoder: str) -> str:
    """Holds a number that grows whenever the pool's `Standings` are written."""
    return retriever_key(pool, encoder, "standings number")


TRUST = "memshare:trust"  # hash: JSON of pool and submitter → the `Trust` as JSON
TRUST_NUMBER = "memshare:trust:number"  # grows whenever somebody decides
GROUPS = "memshare:groups"  # hash: name of a token → its group; it stays when the token is revoked, as the words do

Said = Literal["trust", "leave"]
"""Trust makes a submitter proven, whatever words come to; leave says that they are unproven for good reason, and that
nobody has to be asked."""


class Trust(Message):
    """Decision of a person on a submitter, its time (Unix time in seconds), and who made it."""

    said: Said
    by: str
    at: float


def decide(client: redis.Redis, pool: str, submitter: str, trust: Trust | None) -> None:
    """Note what a person says, in place of what was said before; None takes that back."""
    field = json.dumps([pool, submitter])
    with client.pipeline() as change:
        if trust is None:
            change.hdel(TRUST, field)
        else:
            change.hset(TRUST, field, trust.model_dump_json())
        change.incr(TRUST_NUMBER)
        change.execute()


def decided(client: redis.Redis) -> dict[str, dict[str, Trust]]:
    """Decisions of people on submitters: pool → submitter → decision."""
    found: defaultdict[str, dict[str, Trust]] = defaultdict(dict)
    for field, text in client.hgetall(TRUST).items():
        pool, submitter = json.loads(field)
        found[pool][submitter] = Trust.model_validate_json(text)
    return dict(found)


def trusted(client: redis.Redis) -> dict[str, frozenset[str]]:
    """The submitters that people trust, by pool."""
    by_pool = decided(client).items()
    return {pool: frozenset(name for name, trust in said.items() if trust.said == "trust") for pool, said in by_pool}


def forget_trust(client: redis.Redis, submitter: str) -> None:
    """Remove what was said of a submitter; whoever they spoke of is still trusted, by nobody that is named."""
    for pool, said in decided(client).items():
        for name, trust in said.items():
            if name == submitter:
                decide(client, pool, name, None)
            elif trust.by == submitter:
                decide(client, pool, name, trust.model_copy(update={"by": "somebody"}))
