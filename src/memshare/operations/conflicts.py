"""Conflicts: memories that contradict each other, and a person's decision on them."""

from __future__ import annotations

from memshare.client.errors import NotFound
from memshare.client.pools import contradictions
from memshare.client.rest.calls.conflicts import ConflictCalls, Contradiction
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, audit
from memshare.operations.serving import serves
from memshare_broker.wire.forms import Label
from memshare_memory.curate.requests import ConflictDecision


@serves(ConflictCalls.list)
def conflicts(backend: Backend, caller: Caller, pool: Label | None = None) -> list[Contradiction]:
    """Every two memories of the caller's pools that contradict each other, pool by pool."""
    caller.require("recall")
    memories = backend.client.memories
    if pool is not None:
        caller.require_pool(pool)
        return contradictions(memories, [pool])
    return contradictions(memories, filter(caller.sees, sorted(memories.stats().by_pool)))


@serves(ConflictCalls.decide)
def decide(backend: Backend, caller: Caller, form: ConflictDecision) -> ConflictDecision:
    """Note what a person says of two memories of the caller's."""
    caller.require("curate")
    seen = {one.memory.id for one in backend.client.memories.judge(form.memories) if caller.sees(one.memory.pool)}
    for one in form.memories:
        if one not in seen:
            raise NotFound(f"No memory has the id {str(one)!r}.")
    backend.client.memories.decide(form)
    audit(
        caller,
        "decide",
        memories=[str(one) for one in form.memories],
        contradict=form.contradict,
        right=form.right and str(form.right),
        undecided=form.undecided,
    )
    return form
