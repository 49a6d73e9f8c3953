"""Promotions: memories that are proposed for the next pool of their agent, and a person's decision on them."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from memshare.client.errors import Conflict, NotFound
from memshare.client.rest.calls.decisions import Decision, PromotionCalls, PromotionReply
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, audit
from memshare.operations.serving import serves
from memshare_memory.belief.promotions import Promotions, Proposal, Said, promoted
from memshare_memory.curate.requests import Forget

SAID: dict[Decision, Said] = {"promote": "promoted", "take back": "taken back", "refuse": "refused"}


@serves(PromotionCalls.list)
def promotions(backend: Backend, caller: Caller) -> list[PromotionReply]:
    """The proposals of memories that there still are, the oldest first, where the caller sees both pools."""
    caller.require("recall")
    with backend.reaching():
        every = Promotions(backend.redis).every()
    return seen(backend, caller, every)


def seen(backend: Backend, caller: Caller, proposals: Iterable[Proposal]) -> list[PromotionReply]:
    """The proposals that the caller may see, with their memories."""
    found = {one.memory: one for one in proposals if caller.sees(one.pool) and caller.sees(one.to)}
    there = {one.memory.id: one for one in backend.client.memories.judge([*found])}
    return [PromotionReply(memory=there[name], proposal=one) for name, one in found.items() if name in there]


@serves(PromotionCalls.decide, "PromotionForm")
def decide(backend: Backend, caller: Caller, memory_id: UUID, decision: Decision = "promote") -> PromotionReply:
    """Carry out what a person decides on a proposal; raises `NotFound`, and `Conflict` where somebody was first."""
    caller.require("curate")
    promotions, memories = Promotions(backend.redis), backend.client.memories
    with backend.reaching():
        proposal = promotions.of(memory_id)
    found = seen(backend, caller, [proposal] if proposal else [])
    if proposal is None or not found:
        raise NotFound(f"No memory of yours with the id {str(memory_id)!r} is proposed for another pool.")
    if proposal.said != {"take back": "promoted", "undecided": "refused"}.get(decision):
        by = {None: "", caller.name: " by you"}.get(proposal.by, f" by {proposal.by}")
        raise Conflict(f"It is {proposal.said or 'undecided'}{by}: nothing was done.")
    new, gone = promoted(found[0].memory.memory, proposal, caller.name), list[UUID]()
    if decision == "promote" and not memories.judge([new.id]):
        memories.restore([new])
    elif decision == "take back":
        # What the pool had before stays there.
        there = [one.memory for one in memories.judge([proposal.became or new.id])]
        ids = tuple(one.id for one in there if one.origin and one.origin.memory == memory_id)
        gone = memories.forget(Forget(ids=ids, with_children=True)) if ids else []
    proposal = proposal.decided(SAID.get(decision), caller.name, new.id if decision == "promote" else None)
    with backend.reaching():
        promotions.put(proposal)
    audit(caller, decision, memory_id=memory_id, pool=proposal.pool, to=proposal.to, forgotten=len(gone))
    return PromotionReply(memory=found[0].memory, proposal=proposal, forgotten=tuple(gone))
