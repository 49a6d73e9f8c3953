"""Duplicates: memories of a pool that are nearly the same, looked for in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from itertools import islice
from uuid import UUID

import redis

from memshare.client.errors import NotFound
from memshare.client.rest.calls.decisions import DifferentReply, DuplicateReply, Duplicates, DuplicatesReply
from memshare.operations.apart import computed
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, audit
from memshare.operations.concepts import require_concepts
from memshare.operations.retrievers import PoolPath
from memshare.operations.serving import serves
from memshare_broker.settings import Settings
from memshare_memory.door.client import MemoryClient
from memshare_memory.stores.store import Where

KEPT = 600.0  # seconds for which what was found is shown
LOOKED_AT = 20_000  # memories: all of them with each other in some seconds
MOST = 50  # pairs, the most alike
Two = tuple[UUID, UUID]


@serves(Duplicates.list)
def duplicates(backend: Backend, caller: Caller, pool: PoolPath) -> DuplicatesReply:
    """The duplicates found in a pool; raises `NotFound` for an unknown pool, and `NeedsExtra`."""
    require_concepts(backend, caller, pool)
    there = backend.duplicates.get(pool)
    if there is None or time.monotonic() - there[0] > KEPT:
        there = backend.duplicates[pool] = (time.monotonic(), computed(_looked, backend.settings, pool))
    return there[1].model_copy(update={"duplicates": tuple(left_of(backend, pool))})


@serves(Duplicates.decide, "DifferentForm")
def decide(backend: Backend, caller: Caller, pool: PoolPath, memories: Two, different: bool = True) -> DifferentReply:
    """Note what a person says of two memories of a pool; raises `NotFound`."""
    caller.require("curate")
    caller.require_pool(pool)
    seen = {one.memory.id for one in backend.client.memories.judge(memories) if one.memory.pool == pool}
    for one in memories:
        if one not in seen:
            raise NotFound(f"No memory of the pool {pool!r} has the id {str(one)!r}.")
    with backend.reaching():
        say(backend.redis, pool, memories, different=different)
    reply = DifferentReply(memories=memories, different=different)
    audit(caller, "say of duplicates", pool=pool, **reply.model_dump(mode="json"))
    return reply


def left_of(backend: Backend, pool: str) -> list[DuplicateReply]:
    """The duplicates found last in a pool, without pairs that were decided on, or are gone or hidden, since."""
    _, found = backend.duplicates[pool]
    cosines = {(one.memories[0].memory.id, one.memories[1].memory.id): one.cosine for one in found.duplicates}
    with backend.reaching():
        pairs = but_different(backend.redis, pool, list(cosines))
    return _judged(backend.client.memories, {two: cosines[two] for two in pairs})


def _judged(memory: MemoryClient, cosines: Mapping[Two, float]) -> list[DuplicateReply]:
    """Pairs of which both are there and shown."""
    judged = memory.judge([one for two in cosines for one in two])
    known = {one.memory.id: one for one in judged if one.memory.status == "active"}
    return [
        DuplicateReply(memories=(known[one], known[other]), cosine=cosine)
        for (one, other), cosine in cosines.items()
        if one in known and other in known
    ]


def _looked(settings: Settings, pool: str) -> DuplicatesReply:
    """All of it, with numpy."""
    from memshare_concepts.nearly_same import duplicates as nearly_same
    from memshare_concepts.nearly_same import nearest
    from memshare_concepts.pool_graph import vectors_of

    with closing(MemoryClient(settings)) as memory:
        every = memory.every(Where(pool=pool, status="active"))
        memories, vectors = vectors_of(memory, islice(every, LOOKED_AT))
        found = nearly_same(memories, vectors)
        pairs = _judged(memory, {one.memories: one.cosine for one in found[:MOST]})
        far = None if found else nearest(memories, vectors)
        below = _judged(memory, {far.memories: far.cosine}) if far else []
    looked = DuplicatesReply(pool=pool, looked_at=len(memories), found=len(found), duplicates=tuple(pairs))
    return looked.model_copy(update={"nearest": next(iter(below), None)})


def say(client: redis.Redis, pool: str, two: Two, *, different: bool) -> None:
    """Note that both of two memories are wanted, or take that back."""
    if different:
        client.sadd(_key(pool), _both(two))
    else:
        client.srem(_key(pool), _both(two))


def but_different(client: redis.Redis, pool: str, pairs: list[Two]) -> list[Two]:
    """The pairs of a pool that nobody has noted as different."""
    known = client.smismember(_key(pool), [_both(two) for two in pairs]) if pairs else []
    return [two for two, is_known in zip(pairs, known, strict=True) if not is_known]


def _key(pool: str) -> str:
    return f"memshare:different:{pool}"


def _both(two: Two) -> str:
    return " ".join(sorted(map(str, two)))
