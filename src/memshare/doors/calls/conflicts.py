"""Conflicts: memories that contradict each other, and what a person says of it."""

from __future__ import annotations

from memshare.client.errors import NotFound
from memshare.client.rest.calls.conflicts import ConflictCalls, Contradiction
from memshare.doors.audit import audit
from memshare.doors.authentication import BackendNow, CallerNow
from memshare.doors.serving import serves
from memshare_broker.wire.forms import Label
from memshare_memory.curate.requests import ConflictDecision


@serves(ConflictCalls.list)
def conflicts(backend: BackendNow, caller: CallerNow, pool: Label | None = None) -> list[Contradiction]:
    """Every two memories of the caller's pools that contradict each other, pool by pool."""
    caller.require("recall")
    if pool is not None:
        caller.require_pool(pool)
    memories = backend.client.memories
    pools = [pool] if pool is not None else filter(caller.sees, sorted(memories.stats().by_pool))
    found = [conflict for one in pools for conflict in memories.conflicts(one)]
    known = {one.memory.id: one for one in memories.judge([each for one in found for each in one.memories])}
    there = [one for one in found if known.keys() >= set(one.memories)]
    pairs = [sorted((known[each] for each in one.memories), key=lambda each: -each.credibility.p) for one in there]
    return [
        Contradiction(memories=(first, second), claims=one.claims, confirmed=one.confirmed)
        for one, (first, second) in zip(there, pairs, strict=True)
    ]


@serves(ConflictCalls.decide)
def decide(backend: BackendNow, caller: CallerNow, form: ConflictDecision) -> ConflictDecision:
    """Note what a person says of two memories of the caller's."""
    caller.require("curate")
    seen = {one.memory.id for one in backend.client.memories.judge(form.memories) if caller.sees(one.memory.pool)}
    for one in form.memories:
        if one not in seen:
            raise NotFound(f"No memory has the id {str(one)!r}.")
    backend.client.memories.decide(form)
    audit(caller, "decide", memories=[str(one) for one in form.memories], contradict=form.contradict)
    return form
