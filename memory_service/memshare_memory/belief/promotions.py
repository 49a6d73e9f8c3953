"""Promotion: when a memory of one pool is proposed for the next one of its agent, and what people say of that.

It has helped where an accepted answer followed it. Each prompt counts once, and those of its own author do not, but in
a pool of their own, where nobody else is shown it. What programs graded counts whoever asked, for a program cannot be
talked into it. A memory whose lift is below 0 is not proposed.

A memory is used in vain where no task that was shown it has gone well since, and nobody spoke for it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable
from hashlib import blake2b
from typing import Literal, cast
from uuid import UUID

import redis
from pydantic import Field

from memshare_broker.observe.logs import ids
from memshare_broker.wire.forms import Label, Moment
from memshare_broker.wire.messages import Message
from memshare_broker.wire.spaces import Spaces, owner_of
from memshare_memory.belief.lift import memory_lift
from memshare_memory.memory import Memory, Origin, folded, memory_id

log = logging.getLogger(__name__)

PROMOTIONS = "memshare:promotions"  # hash: memory → its `Proposal` as JSON
HELPED = "memshare:helped:"
"""Begins the key of each memory's set: digest of a prompt, who asked, and what graded the answer."""
MOST = 100  # of these of a memory that is not proposed
_BETWEEN = "\x1f"  # stands in no name of a submitter
BY_RULE = "the agent's file"  # stands as who approved where nobody has to

Said = Literal["promoted", "refused", "taken back"]


class Proposal(Message):
    """A memory that is proposed for another pool, and what was said of that, by whom.

    `became` is the memory of that pool that it is since it was promoted.
    """

    memory: UUID
    pool: Label
    to: Label
    helped: int = Field(description="prompts of those whom it helped")
    checked: int = Field(description="prompts to which programs found right what followed it, whoever asked")
    lift: float | None = Field(description="points of the score; null where it is not known yet")
    at: Moment
    said: Said | None = None
    by: Label | None = None
    became: UUID | None = None

    def decided(self, said: Said | None, by: str | None, became: UUID | None = None) -> Proposal:
        return self.model_copy(update={"said": said, "by": by, "became": became})


def promoted(memory: Memory, proposal: Proposal, by: str) -> Memory:
    """The memory as it is in the pool that it is proposed for: its author's still, and written from this one."""
    origin = Origin(memory=memory.id, pool=memory.pool, approved_by=by, at=time.time())
    new = memory_id(proposal.to, memory.prompt, memory.answer)
    changes = {"id": new, "pool": proposal.to, "parents": (memory.id,), "history": (), "because": (), "origin": origin}
    return memory.model_copy(update=changes)


class Promotions:
    """The proposals of all pools, in one Redis."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def note(self, memory: Memory, spaces: Spaces, by: str, prompt: str, *, checked: bool) -> Proposal | None:
        """Note that an accepted answer followed a memory; its proposal, where it is proposed and nobody decided."""
        to, key = spaces.after(memory.pool), f"{HELPED}{memory.id}"
        is_own = by == memory.submitter and not owner_of(memory.pool)
        if to is None or memory.status != "active" or (is_own and not checked):
            return None
        there = self.of(memory.id)
        # What says something else than what was promoted has to help anew.
        if there is not None and there.became in (None, memory_id(there.to, memory.prompt, memory.answer)):
            return there if there.said is None else None
        if self._client.scard(key) < MOST:
            digest = blake2b(folded(prompt).encode(), digest_size=12).hexdigest()
            self._client.sadd(key, _BETWEEN.join((digest, by, "program" if checked else "model")))
        words = [str(word).split(_BETWEEN) for word in self._client.smembers(key)]
        helped = len({prompt for prompt, who, _ in words if owner_of(memory.pool) or who != memory.submitter})
        passed = len({prompt for prompt, _, how in words if how == "program"})
        lift = memory_lift(self._client, memory.pool, memory.id).points
        if (helped < spaces.helped and passed < spaces.checked) or (lift or 0.0) < 0:
            return None
        named = {"memory": memory.id, "pool": memory.pool, "to": to}
        found = Proposal(**named, helped=helped, checked=passed, lift=lift, at=time.time())
        self.put(found)
        log.info("Proposed for the pool %s.", to, extra=ids(memory_id=memory.id, pool=memory.pool))
        return found

    def every(self) -> list[Proposal]:
        found = (Proposal.model_validate_json(text) for text in self._client.hvals(PROMOTIONS))
        return sorted(found, key=lambda proposal: proposal.at)

    def of(self, memory: UUID) -> Proposal | None:
        text = self._client.hget(PROMOTIONS, str(memory))
        return Proposal.model_validate_json(text) if text else None

    def put(self, proposal: Proposal) -> None:
        self._client.hset(PROMOTIONS, str(proposal.memory), proposal.model_dump_json())

    def drop(self, memories: Iterable[UUID], *, purged: bool = False) -> None:
        """Forget what was noted of memories that are gone, or say something else.

        That they were promoted stays until they are `purged`, as it can be taken back.
        """
        if names := [str(memory) for memory in memories]:
            texts = zip(names, self._client.hmget(PROMOTIONS, names), strict=True)
            found = {name: Proposal.model_validate_json(text) for name, text in texts if text}
            if over := [name for name, proposal in found.items() if purged or proposal.said != "promoted"]:
                self._client.hdel(PROMOTIONS, *over)
            self._client.delete(*(f"{HELPED}{name}" for name in names))

    def take_back(self, submitter: str, memories: Collection[UUID]) -> None:
        """Let what a submitter's tasks said for memories count no more, and forget their name.

        Where nobody has decided, such a memory is proposed again once there is enough without that.
        """
        for name in memories:
            key = f"{HELPED}{name}"
            said = [word for word in self._client.smembers(key) if str(word).split(_BETWEEN)[1] == submitter]
            if said and self._client.srem(key, *said) and (found := self.of(name)) and found.said is None:
                self._client.hdel(PROMOTIONS, str(name))
        for proposal in self.every():
            if proposal.by == submitter:
                self.put(proposal.decided(proposal.said, None, proposal.became))


_UNCONFIRMED = "memshare:unconfirmed:"
"""Of a pool, a sorted set: memory → since when (Unix time in seconds) it is used in vain."""


def note_used(client: redis.Redis, pool: str, memories: Collection[UUID], at: float, *, well: bool) -> None:
    """Note that memories were of use at a time, or were used and it did not go well."""
    names = [str(memory) for memory in memories]
    if names and well:
        client.zrem(_UNCONFIRMED + pool, *names)
    elif names:
        client.zadd(_UNCONFIRMED + pool, dict.fromkeys(names, at), nx=True)


def unconfirmed(client: redis.Redis, pool: str, before: float, most: int) -> dict[UUID, float]:
    """Memories that are used in vain since before a time, each with since when."""
    found = client.zrangebyscore(_UNCONFIRMED + pool, 0, before, start=0, num=most, withscores=True)
    return {UUID(name): since for name, since in cast("list[tuple[str, float]]", found)}
