"""Trust: a person's word on submitters of a pool, beside what the words on their memories come to."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Literal

import redis

from memshare_broker.wire.messages import Message

TRUST = "memshare:trust"
"""Hash: JSON of pool and submitter → the `Trust` as JSON."""
TRUST_NUMBER = "memshare:trust:number"
"""Grows whenever somebody decides."""

GROUPS = "memshare:groups"
"""Hash: name of a token → its group; it stays when the token is revoked, as the words do."""

Said = Literal["trust", "leave"]
"""Trust makes a submitter proven, whatever words come to; leave says that they are unproven for good reason, and that
nobody has to be asked."""


class Trust(Message):
    """What a person said of a submitter, when (Unix time in seconds), and who that was."""

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
    """What people said: pool → submitter → that."""
    found: defaultdict[str, dict[str, Trust]] = defaultdict(dict)
    for field, text in client.hgetall(TRUST).items():
        pool, submitter = json.loads(field)
        found[pool][submitter] = Trust.model_validate_json(text)
    return dict(found)


def trusted(client: redis.Redis) -> dict[str, frozenset[str]]:
    """The submitters that people trust, by pool."""
    by_pool = decided(client).items()
    return {pool: frozenset(name for name, one in said.items() if one.said == "trust") for pool, said in by_pool}


def forget_trust(client: redis.Redis, submitter: str) -> None:
    """Remove what was said of a submitter; whoever they spoke of is still trusted, by nobody that is named."""
    for pool, said in decided(client).items():
        for name, one in said.items():
            if name == submitter:
                decide(client, pool, name, None)
            elif one.by == submitter:
                decide(client, pool, name, one.model_copy(update={"by": "somebody"}))
