"""Credibility ranking: memories rise or sink among those found by their credibility, or are not shown at all."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple
from uuid import UUID

import numpy as np
import redis

from memshare.memory_service.memory import FLOOR, SHOWN, Memory
from memshare.memory_service.recall.balance import Balance, balance_key, moved, read_balances
from memshare.memory_service.recall.bandit_arms import Arms, read_arms
from memshare.memory_service.recall.conflicts import Conflicts, Rivals, read_rivals
from memshare.memory_service.recall.credibility import corrected, features, in_general, upper_bounds
from memshare.memory_service.recall.rivalry import Strength, Weaker, behind_rivals, weaker
from memshare.memory_service.stores.store import Hit, Store, Where


class Credibility(NamedTuple):
    """p of the bandit for a task just like the memory's own, and how often the memory was credited."""

    p: float
    credits: int


class FoundFor(NamedTuple):
    """What was found in a pool for the text of a task, of a kind, that a model is to answer."""

    pool: str
    text: str
    hits: Sequence[Hit]
    model: str | None = None
    kind: str | None = None


class CredibilityRanking:
    """What is known of memories beside themselves: their arms and their conflicts."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self.arms = Arms(client)
        self.conflicts = Conflicts(client)

    def credibilities(self, pool: str, memories: Sequence[Memory]) -> list[Credibility]:
        """How credible some memories of a pool are, in their order."""
        arms = self.arms.of(pool, [memory.id for memory in memories])
        contexts = np.array([in_general(memory) for memory in memories])
        bounds = upper_bounds(arms, contexts)
        return [Credibility(float(p), arm.credits) for p, arm in zip(bounds, arms, strict=True)]

    def note(self, store: Store, ids: Collection[UUID]) -> None:
        """Let the store find some memories by how credible they are now."""
        wanted = sorted(ids)
        memories = store.page(Where(ids=wanted), len(wanted)).memories if wanted else []
        noted: dict[UUID, float] = {}
        for pool in {memory.pool for memory in memories}:
            of_pool = [memory for memory in memories if memory.pool == pool]
            known = zip(of_pool, self.credibilities(pool, of_pool), strict=True)
            noted |= {memory.id: how.p for memory, how in known}
        if noted:
            store.note_credibility(noted)

    def ranked(self, store: Store, tasks: Sequence[FoundFor]) -> list[list[Hit]]:
        """The hits for each task that may be shown, best first; one look at Redis for all of them.

        Not shown are those below the floor. Of two that contradict each other the less credible one stands behind the
        other, or is not shown (`memshare.memory_service.recall.rivalry`).
        """
        ids = [[hit.memory.id for hit in task.hits] for task in tasks]
        with self._client.pipeline(transaction=False) as look:
            for task, some in zip(tasks, ids, strict=True):
                if some:
                    self.arms.ask(look, task.pool, some)
                    self.conflicts.ask(look, task.pool, some)
                    look.hgetall(balance_key(task.pool))
            replies = iter(look.execute())
        looks = [
            (read_arms(next(replies)), read_rivals(some, next(replies)), read_balances(next(replies)))
            if some
            else ([], {}, {})
            for some in ids
        ]
        contexts = [features(hit.memory, task.text, hit.similarity) for task in tasks for hit in task.hits]
        bounds = iter(upper_bounds([arm for arms, _, _ in looks for arm in arms], np.array(contexts)))
        ranked = []
        for task, (_, rivals, of_kinds) in zip(tasks, looks, strict=True):
            contested = [hit.memory for hit in task.hits if hit.memory.id in rivals]
            beaten = self._beaten(store, task.pool, contested, rivals)
            out = {one for one, how in beaten.items() if how.is_left_out}
            judged = [(hit, next(bounds)) for hit in task.hits]
            balance = of_kinds.get(task.kind or "", Balance())
            kept = [
                (corrected(hit.score, p), hit._replace(moved=moved(balance, hit.memory, task.model)))
                for hit, p in judged
                if p >= FLOOR and hit.memory.id not in out
            ]
            best = sorted(kept, key=lambda pair: -pair[0] * (1 + pair[1].moved))
            ranked.append(behind_rivals([hit for _, hit in best], beaten))
        return ranked

    def _beaten(
        self, store: Store, pool: str, memories: Sequence[Memory], rivals: dict[UUID, Rivals]
    ) -> dict[UUID, Weaker]:
        """Those that a rival which could be shown beats."""
        if not memories:
            return {}
        wanted = sorted({rival for of in rivals.values() for rival in of})
        others = store.page(Where(pool=pool, status=SHOWN, ids=wanted), len(wanted)).memories
        everyone = {memory.id: memory for memory in (*memories, *others)}
        known = zip(everyone.values(), self.credibilities(pool, list(everyone.values())), strict=True)
        return weaker(rivals, {memory.id: Strength(how.p, -memory.created, how.credits) for memory, how in known})
