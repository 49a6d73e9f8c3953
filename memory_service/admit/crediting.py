"""Crediting: the memories that a task was shown earn what its answer was worth."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from uuid import UUID

import redis

from memshare.broker.wire.grades import GradedTask, VerdictTask
from memshare.broker.wire.messages import AnsweredTask, Shown
from memshare.memory_service.memory import Memory
from memshare.memory_service.recall import reward
from memshare.memory_service.recall.balance import Earned, sums
from memshare.memory_service.recall.bandit_arms import KEEP_MARKER_DAYS, Arms, Credit, Graded
from memshare.memory_service.recall.credibility import features
from memshare.memory_service.recall.recall import Recall
from memshare.memory_service.stores.store import Where


class Crediting:
    """Gives credit to the memories of all pools, once for a task.

    A share in the answer, where an agent judged it, is how much the answer's verdict weighs for a memory: one with a
    small share gains or loses little, and one without any neither.
    """

    def __init__(self, client: redis.Redis, keep_days: float = KEEP_MARKER_DAYS) -> None:
        """For `keep_days` it is known that a task has credited."""
        self._client = client
        self._arms = Arms(client, keep_days)

    def graded(self, recall: Recall, journey: str, graded: GradedTask) -> list[Memory]:
        """Credit what a graded task was shown; returns the memories of it that are still there.

        A memory with a share in it was judged with the answer, which was found right. Any other earns the score,
        compared with what is usual for the task's kind.
        """
        task, score = graded.task, graded.score.total
        earned = reward.of_score(score, reward.usual(self._client, task.pool, task.kind))
        rewards = {one.id: earned if one.share is None else reward.of_verdict(1) for one in task.shown}
        return self._credit(recall, journey, task, rewards, Graded(task.kind, score), model=task.model)

    def judged(self, recall: Recall, task: VerdictTask) -> int:
        """Credit what an answer was shown that was found right or wrong; returns how many memories were credited."""
        earned = reward.of_verdict(task.verdict)
        # The same journey may credit by its grade, too.
        there = self._credit(recall, f"{task.journey} judged", task, {one.id: earned for one in task.shown})
        counting = {one.id for one in task.shown if one.share != 0}
        return len(counting & {memory.id for memory in there})

    def _credit(
        self,
        recall: Recall,
        task_id: str,
        task: AnsweredTask | VerdictTask,
        rewards: Mapping[UUID, float],
        graded: Graded | None = None,
        model: str | None = None,
    ) -> list[Memory]:
        shown = {one.id: one for one in task.shown}
        there = recall.store.page(Where(ids=list(shown)), len(shown)).memories if shown else []
        earned: defaultdict[str, list[Credit]] = defaultdict(list)
        for memory in there:
            one = shown[memory.id]
            if one.share != 0:
                x = features(memory, task.prompt, one.similarity)
                earned[memory.pool].append(Credit(memory.id, x, rewards[memory.id], _weight(one)))
        for pool in dict.fromkeys((*earned, task.pool)):
            own = graded if pool == task.pool else None
            of_pool = [memory for memory in there if memory.pool == pool]
            sides = (Earned(one, rewards[one.id], _weight(shown[one.id])) for one in of_pool)
            balance = sums(own.kind, model, sides) if own else {}
            credit = earned.get(pool, ())
            self._arms.add(pool, task_id, credit, submitter=task.submitter, graded=own, balance=balance)
        return there


def _weight(shown: Shown) -> float:
    return 1.0 if shown.share is None else shown.share
