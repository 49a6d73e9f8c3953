"""Rewards: what a memory earns when the answer that it was shown for was graded or checked.

1 is what is usual: whatever earns it stays as credible as a memory that nobody has tried yet.
"""

from __future__ import annotations

from typing import NamedTuple

import redis

from memshare_memory.belief.bandit import usual_key

BEST = 1.5  # of a right answer; the least is 0
HALF_TRUST = 5  # tasks of a kind after which what is usual for it counts half


class Usual(NamedTuple):
    """Usual score of the tasks of a pool and kind: the number of graded tasks, and their mean, 0 to 100."""

    tasks: int
    mean: float


def of_verdict(verdict: float) -> float:
    """The reward for an answer that was found right (1) or wrong (0), or anything between."""
    return BEST * verdict


def of_score(score: float, usual: Usual) -> float:
    """The reward for a graded answer: how far its score, 0 to 100, is from what tasks of its kind score anyway.

    r = 1 + n / (n + 5) · (S - m) / 100, kept from 0 to 1.5, for the mean m of the n tasks that were graded before.
    """
    return min(max(1 + trust(usual) * (score - usual.mean) / 100, 0.0), BEST)


def trust(usual: Usual) -> float:
    """How much can be said of a score by what is usual, 0 to 1: n / (n + 5) after n tasks."""
    return usual.tasks / (usual.tasks + HALF_TRUST)


def usual(client: redis.Redis, pool: str, kind: str | None) -> Usual:
    """Usual score of the tasks of a pool and a kind so far."""
    text = client.hget(usual_key(pool), kind or "")
    if text is None:
        return Usual(0, 0.0)
    tasks, total = (float(number) for number in str(text).split())
    return Usual(round(tasks), total / tasks)
