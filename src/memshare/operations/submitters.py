"""Submitters: what the words on their memories come to in a pool, and a person's word on them."""

from __future__ import annotations

import time
from typing import Literal

from memshare.client.errors import NotFound
from memshare.client.pools import encoder_in_use
from memshare.client.rest.calls.decisions import SubmitterCalls, SubmitterReply
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, audit
from memshare.operations.retrievers import PoolPath
from memshare.operations.serving import serves
from memshare_broker.wire.forms import Label
from memshare_memory.belief.trust import Standings, Trust, decide, decided, standings_key


@serves(SubmitterCalls.list)
def submitters(backend: Backend, caller: Caller, pool: PoolPath) -> list[SubmitterReply]:
    """The submitters of a pool about whom something was said; none in a pool that has had no lesson."""
    caller.require("recall")
    caller.require_pool(pool)
    return submitters_of(backend, [pool])[pool]


@serves(SubmitterCalls.trust, "TrustForm")
def trust(
    backend: Backend,
    caller: Caller,
    pool: PoolPath,
    submitter: Label,
    said: Literal["trust", "leave", "undecided"] = "trust",
) -> SubmitterReply:
    """Note what a person says of a submitter, also of one of whom nothing is known; raises `NotFound`."""
    caller.require("curate")
    caller.require_pool(pool)
    if pool not in backend.client.memories.stats().by_pool:
        raise NotFound(f"No memory is in a pool {pool!r}.")
    word = None if said == "undecided" else Trust(said=said, by=caller.name, at=time.time())
    with backend.reaching():
        decide(backend.redis, pool, submitter, word)
    audit(caller, "trust", pool=pool, submitter=submitter, said=said)
    return submitter_of(backend, pool, submitter)


def submitter_of(backend: Backend, pool: str, name: str) -> SubmitterReply:
    """A submitter by name, also if nothing was said about them."""
    found = {one.name: one for one in submitters_of(backend, [pool])[pool]}
    return found.get(name) or _reply(name, Standings(), None)


def submitters_of(backend: Backend, pools: list[str]) -> dict[str, list[SubmitterReply]]:
    """The submitters of some pools, by pool and name."""
    with backend.reaching():
        encoder = encoder_in_use(backend.settings, backend.redis)
        texts = backend.redis.mget([standings_key(pool, encoder) for pool in pools]) if pools else []
        said = decided(backend.redis)
    found = {}
    for pool, text in zip(pools, texts, strict=True):
        known, words = Standings.model_validate_json(text) if text else Standings(), said.get(pool, {})
        names = sorted(known.submitters.keys() | words.keys())
        found[pool] = [_reply(name, known, words.get(name)) for name in names]
    return found


def _reply(name: str, known: Standings, said: Trust | None) -> SubmitterReply:
    standing, unknown = known.submitters.get(name), {"worth": None, "error": None, "words": 0, "proven": False}
    told = standing.model_dump(include=set(unknown)) if standing else unknown
    if said is not None and said.said == "trust":
        told["proven"] = True
    return SubmitterReply(**told, name=name, said=said.said if said else None, by=said.by if said else None)
