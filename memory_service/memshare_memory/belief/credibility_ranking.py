"""Credibility ranking: memories rise or sink among those found by their credibility, or are not shown at all."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

import numpy as np
import redis

from memshare_broker.presence import INVENTED
from memshare_memory.belief.bandit import BANDIT, Arm, Arms, Bandit, corrected, features, in_general, upper_bounds
from memshare_memory.contradictions import (
    BOTH_RIGHT,
    Conflicts,
    Rivals,
    Strength,
    Weaker,
    behind_rivals,
    read_rivals,
    weaker,
    with_proven_rivals,
)
from memshare_memory.memory import FLOOR, UNTRIED, Credibility, Memory, folded
from memshare_memory.stores.store import Hit, Store, by_ids


class FoundFor(NamedTuple):
    """Hits found in a pool for the text of a task, of some kind."""

    pool: str
    text: str
    hits: Sequence[Hit]
    kind: str | None = None


class CredibilityRanking:
    """Ranking of memories by the data kept beside them: their arms and their conflicts."""

    def __init__(self, client: redis.Redis, bandit: Bandit = BANDIT) -> None:
        self._client = client
        self._alpha = bandit.alpha
        self.arms = Arms(client, bandit=bandit)
        self.conflicts = Conflicts(client)

    def credibilities(self, pool: str, memories: Sequence[Memory]) -> list[Credibility]:
        """How credible some memories of a pool are, in their order."""
        return self._credibilities(self.arms.of(pool, [memory.id for memory in memories]), memories)

    def of_hits(self, hits: Sequence[Hit]) -> list[Credibility]:
        """The same of hits that were ranked, without another look at Redis."""
        return self._credibilities([hit.arm for hit in hits], [hit.memory for hit in hits])

    def _credibilities(self, arms: Sequence[Arm], memories: Sequence[Memory]) -> list[Credibility]:
        bounds = upper_bounds(arms, np.array([in_general(memory) for memory in memories]), self._alpha)
        return [Credibility(p=p, credits=arm.credits) for p, arm in zip(bounds.tolist(), arms, strict=True)]

    def note(self, store: Store, ids: Collection[UUID]) -> None:
        """Let the store find some memories by how credible they are now."""
        self.note_of(store, list(by_ids(store, ids).values()))

    def note_of(self, store: Store, memories: Sequence[Memory]) -> None:
        """The same for memories that were read already."""
        noted: dict[UUID, float] = {}
        for pool in {memory.pool for memory in memories}:
            of_pool = [memory for memory in memories if memory.pool == pool]
            known = zip(of_pool, self.credibilities(pool, of_pool), strict=True)
            noted |= {memory.id: how.p for memory, how in known}
        if noted:
            store.note_credibility(noted)

    def ranked(self, store: Store, tasks: Sequence[FoundFor]) -> list[list[Hit]]:
        """The hits for each task that may be shown, best first, and the shorter answer first among equals.

        One look at Redis is for all of them.
        Not shown are those below the floor. Of two that contradict each other the less credible one stands behind the
        other, or is not shown, nor is an unproven one that a proven one denies: see
        `memshare_memory.contradictions`. One that lost and was edited is not shown in place of what it lost to, before
        it was compared. Rivals that were not found take another look.
        """
        looks = self._look(tasks)
        bounds = iter(_bounds(tasks, looks, self._alpha))
        ranked = []
        each_beaten, brought_in = self._beaten(store, tasks, looks)
        for task, look, beaten in zip(tasks, looks, each_beaten, strict=True):
            out = {memory for memory, how in beaten.items() if how.is_left_out}
            with_bounds = [(hit, next(bounds)) for hit in task.hits]
            scored = [
                (corrected(hit.score, p), hit) for hit, p in with_bounds if p >= FLOOR and hit.memory.id not in out
            ]
            best = [hit for _, hit in sorted(scored, key=lambda pair: (-pair[0], len(pair[1].memory.answer)))]
            denied = with_proven_rivals(best, look.rivals, brought_in) | look.edited_losers(best)
            ranked.append(behind_rivals([look.at(hit) for hit in best if hit.memory.id not in denied], beaten))
        return ranked

    def _look(self, tasks: Sequence[FoundFor]) -> list[_Look]:
        ids = [[hit.memory.id for hit in task.hits] for task in tasks]
        with self._client.pipeline(transaction=False) as look:
            for task, some in zip(tasks, ids, strict=True):
                if some:
                    self.arms.ask(look, task.pool, some)
                    self.conflicts.ask(look, task.pool, some)
            if any(not hit.proven for task in tasks for hit in task.hits):
                look.hgetall(INVENTED)
            replies = iter(look.execute())
        looks = []
        for some in ids:
            arms, texts = (self.arms.read(next(replies)), next(replies)) if some else ([], [])
            looks.append(_Look(some, arms, texts, read_rivals(some, texts), read_rivals(some, texts, BOTH_RIGHT)))
        made_up = {str(agent): frozenset(json.loads(kinds)) for agent, kinds in next(replies, {}).items()}
        return [look._replace(made_up=made_up) for look in looks]

    def _beaten(
        self, store: Store, tasks: Sequence[FoundFor], looks: Sequence[_Look]
    ) -> tuple[list[dict[UUID, Weaker]], set[UUID]]:
        """Of each task's hits those that a rival which could be shown beats; one not found counts as proven.

        And those of the rivals not found that people brought in.
        """
        wanted = {rival for look in looks for of in look.rivals.values() for rival in of}
        if not wanted:
            return [{} for _ in tasks], set()
        brought_in = set[UUID]()
        known = {
            hit.memory.id: (hit.memory, arm, hit.proven)
            for task, look in zip(tasks, looks, strict=True)
            for hit, arm in zip(task.hits, look.arms, strict=True)
        }
        if missing := sorted(wanted - known.keys()):
            others = by_ids(store, missing).values()
            for pool in {memory.pool for memory in others}:
                of_pool = [memory for memory in others if memory.pool == pool and memory.status == "active"]
                brought_in.update(memory.id for memory in of_pool if memory.task_id is None)
                arms = self.arms.of(pool, [memory.id for memory in of_pool])
                known |= {memory.id: (memory, arm, True) for memory, arm in zip(of_pool, arms, strict=True)}
        involved = [known[memory] for memory in wanted.union(*(look.rivals for look in looks)) & known.keys()]
        contexts = np.array([in_general(memory) for memory, *_ in involved])
        bounds = upper_bounds([arm for _, arm, _ in involved], contexts, self._alpha)
        strength = {
            memory.id: Strength.of(memory, float(p), round(arm.unfaded), proven=proven)
            for (memory, arm, proven), p in zip(involved, bounds, strict=True)
        }
        return [weaker(look.rivals, strength) for look in looks], brought_in


class _Look(NamedTuple):
    """Data in Redis on a task's hits, in their order: their arms, and the texts of their conflicts with the rivals.

    `both_right` has what a person found right beside them.
    `made_up` has the kinds of tasks whose answers are made up, by agent, where one is unproven.
    """

    ids: Sequence[UUID]
    arms: Sequence[Arm]
    conflicts: Sequence[str | None]
    rivals: dict[UUID, Rivals]
    both_right: dict[UUID, Rivals]
    made_up: Mapping[str, Collection[str | None]] = {}

    def edited_losers(self, hits: Sequence[Hit]) -> set[UUID]:
        """Memories that lost to one with the same prompt, had their text changed, and were not compared since."""
        edited = [hit.memory for hit in hits if any(was.lost_to for was in hit.memory.history)]
        asked = {hit.memory.id: folded(hit.memory.key) for hit in hits} if edited else {}
        return {
            memory.id
            for memory in edited
            for was in memory.history
            for right in was.lost_to
            if asked.get(right) == asked[memory.id]
            and str(right) not in (self.conflicts[self.ids.index(memory.id)] or "")
        }

    def at(self, hit: Hit) -> Hit:
        """The hit with its arm and what is right beside it, and of an unproven memory what it was compared with."""
        memory, place = hit.memory, self.ids.index(hit.memory.id)
        hit = hit._replace(arm=self.arms[place], both_right=tuple(self.both_right.get(memory.id, ())))
        if hit.proven or memory.kind in self.made_up.get(memory.agent or "", ()):
            return hit
        compared = (self.conflicts[place] or "").split()
        return hit._replace(judged=frozenset(UUID(word[1:]) for word in compared))


def _bounds(tasks: Sequence[FoundFor], looks: Sequence[_Look], alpha: float) -> list[float]:
    """p of all hits, task by task; that of most is known without computing, for they were never credited."""
    found = [
        (task, hit, arm)
        for task, look in zip(tasks, looks, strict=True)
        for hit, arm in zip(task.hits, look.arms, strict=True)
    ]
    tried = [row for row in found if row[2].is_tried]
    contexts = [features(hit.memory, task.text, hit.similarity, task.kind) for task, hit, _ in tried]
    computed = iter(upper_bounds([arm for *_, arm in tried], np.array(contexts), alpha).tolist())
    return [next(computed) if arm.is_tried else UNTRIED for *_, arm in found]
