"""What memories have been worth, and what contradicts them: dropped with them, and put back with them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from uuid import UUID

import redis

from memshare_memory.forget.answers import CreditSnapshot
from memshare_memory.memory import Memory
from memshare_memory.recall.conflicts import Verdict
from memshare_memory.recall.credibility_ranking import CredibilityRanking
from memshare_memory.recall.given_credit import GivenCredit, arms_key
from memshare_memory.recall.lift import drop_lift

_SAID: tuple[Verdict, ...] = ("confirmed", "right", "wrong")  # by a person


class Worths:
    """What the memories of all pools have been worth, in one Redis."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._ranking = CredibilityRanking(client)
        self._given = GivenCredit(client)

    def of(self, memories: Iterable[Memory]) -> dict[UUID, CreditSnapshot]:
        """What each of some memories has been worth."""
        found: dict[UUID, CreditSnapshot] = {}
        for pool, some in by_pool(memories):
            ids = [memory.id for memory in some]
            arms = self._ranking.arms.ask(self._client, pool, ids)
            rivals = self._ranking.conflicts.rivals(pool, ids)
            given = self._given.of(pool, ids)
            for one, arm in zip(ids, arms, strict=True):
                of = rivals.get(one, {})
                sure, right, wrong = (tuple(rival for rival, said in of.items() if said == what) for what in _SAID)
                found[one] = CreditSnapshot(
                    arm=arm, given=given.get(one, {}), rivals=tuple(of), confirmed=sure, right=right, wrong=wrong
                )
        return found

    def put_back(self, memory: Memory, worth: CreditSnapshot, there: Collection[UUID]) -> None:
        """Give a memory what it had been worth, and link it with those of its rivals that are `there`."""
        if worth.arm is not None and self._client.hsetnx(arms_key(memory.pool), str(memory.id), worth.arm):
            self._given.put_back(memory.pool, memory.id, worth.given)
        for rival in worth.rivals:
            if rival in there:
                of_persons = zip(_SAID, (worth.confirmed, worth.right, worth.wrong), strict=True)
                verdict: Verdict = next((said for said, rivals in of_persons if rival in rivals), "contradict")
                self._ranking.conflicts.judge(memory.pool, memory.id, rival, verdict)

    def drop(self, memories: Iterable[Memory]) -> None:
        """What was said of these memories says nothing of what they are now; their lift does not come back."""
        for pool, some in by_pool(memories):
            ids = [memory.id for memory in some]
            self._ranking.arms.drop(pool, ids)
            self._ranking.conflicts.drop(pool, ids)
            drop_lift(self._client, pool, ids)


def by_pool(memories: Iterable[Memory]) -> list[tuple[str, list[Memory]]]:
    """Memories by their pool, in the order of the pools' names."""
    pools: defaultdict[str, list[Memory]] = defaultdict(list)
    for memory in memories:
        pools[memory.pool].append(memory)
    return sorted(pools.items())
