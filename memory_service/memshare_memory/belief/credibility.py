"""Credibility: what memories have been worth, as a contextual bandit (LinUCB) with one arm for each memory.

DynaMind (arXiv 2310.14248) lets knowledge prove itself in this way. An arm is A = I + Σ w·xxᵀ and b = Σ w·r·x over the
times that its memory was shown, with x the features, r the reward (`memshare_memory.belief.reward`) and w the
memory's share in the answer, 1 where nobody judged it. Its estimate of the reward in a context x, and how far it may be
off, are θᵀx and √(xᵀA⁻¹x) with θ = A⁻¹b.

Knowledge ages: of Σ w·xxᵀ, and of b, half is left after each half-life, until the arm is one that was never tried.

As every x has length 1 and a bias of the same size, a memory that always earned 1 or more, whatever its shares, is in
every context at least as credible as one that was never tried.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memshare_memory.memory import UNTRIED, Memory

ALPHA = 1.0  # how much doubt counts in favour
WEIGHT = 0.2  # how far credibility moves a rank, as a share of the similarity
LOWEST, HIGHEST = -1.0, 0.5  # of p - UNTRIED, so that the correction is bounded
FEATURES = ("bias", "similarity", "score", "is of another kind than the task", "is as long as the task", "rest")
D = len(FEATURES)

Array = NDArray[np.float64]


class Bandit(NamedTuple):
    """Settings of the bandit: α, days until a credit counts half (0: it never fades), and the calendar."""

    alpha: float = ALPHA
    half_life: float = 90.0
    today: Callable[[], int] = lambda: int(time.time() // 86_400)
    """Days since 1970. Credit fades once a day, so what earned the same on one day is as credible."""

    def left(self, days: float) -> float:
        """Share of a credit that is left after some days."""
        return 0.5 ** (max(days, 0.0) / self.half_life) if self.half_life else 1.0


BANDIT = Bandit()


@dataclass(frozen=True)
class Arm:
    """Arm of a memory: A of shape (d, d), b of shape (d,), the number of its credits, and how many are left of them."""

    a: Array
    b: Array
    credits: int = 0
    unfaded: float = 0.0

    @property
    def is_tried(self) -> bool:
        """True if any of its credits has weight."""
        return bool(self.a[0, 0] > 1)

    @classmethod
    def untried(cls, d: int = D) -> Arm:
        return cls(np.eye(d), np.zeros(d))

    def credited(self, x: Array, reward: float, weight: float = 1.0) -> Arm:
        """The arm after its memory was shown in the context x, of shape (d,), and earned a reward of this weight."""
        a, b = self.a + weight * np.outer(x, x), self.b + weight * reward * x
        return Arm(a, b, self.credits + 1, self.unfaded + 1)

    def faded(self, left: float) -> Arm:
        """The arm when a share of its credit is left: how often it was credited stays."""
        if left == 1:
            return self
        prior = np.eye(len(self.a))
        return Arm(prior + left * (self.a - prior), left * self.b, self.credits, left * self.unfaded)


def upper_bounds(arms: Sequence[Arm], x: Array, alpha: float = ALPHA) -> Array:
    """p = θᵀx + α√(xᵀA⁻¹x) of each arm in its own context, the rows of x; of one that was never tried it is 1.

    For that, with an α other than 1, arms begin at b = (√2 (1 - α), 0, …) in place of 0.
    """
    if not arms:
        return np.zeros(0)
    inverse, b = np.linalg.inv(np.stack([arm.a for arm in arms])), np.stack([arm.b for arm in arms])
    b[:, 0] += (UNTRIED - alpha) * sqrt(2)
    theta = np.einsum("nij,nj->ni", inverse, b)
    doubt = np.sqrt(np.einsum("ni,nij,nj->n", x, inverse, x))
    bounds: Array = np.round(np.einsum("ni,ni->n", theta, x) + alpha * doubt, 12)
    return bounds


def features(memory: Memory, text: str, similarity: float, kind: str | None = None) -> Array:
    """The memory in the context of a task, in the order of `FEATURES`, as a vector of length 1.

    Each of the four that are measured is from 0 to 1. The rest fills them up to one length, so that the bias of every
    memory in every context is √½. `similarity` is the cosine of the memory's key and the task's text, `kind` the
    task's; statements are of no kind of task, and so of no other.
    """
    shorter, longer = sorted((len(memory.key), len(text)))
    like = min(max(similarity, 0.0), 1.0) / 2
    good = 0.25 if memory.score is None else memory.score / 200
    long = shorter / longer / 2 if longer else 0.5
    other = 0.5 if not memory.is_statement and kind and memory.kind and kind != memory.kind else 0.0
    rest = sqrt(max(1 - like**2 - good**2 - other**2 - long**2, 0.0))
    unit: Array = np.array([1.0, like, good, other, long, rest]) / np.sqrt(2)
    return unit


def in_general(memory: Memory) -> Array:
    """The context in which credibilities are compared: a task just like the memory's own."""
    return features(memory, memory.key, 1.0)


def as_shown(arm: Arm) -> Array:
    """The contexts in which a memory was credited, as one of length 1: their mean, weighted by the bias.

    It takes nothing but the arm, where the memory itself is not at hand; the arm must have been credited.
    """
    mean = (arm.a - np.eye(len(arm.a)))[0]
    unit: Array = mean / np.linalg.norm(mean)
    return unit


def corrected(score: float, p: float) -> float:
    """A score by which memories are ranked, moved by at most a share of itself."""
    return score + abs(score) * WEIGHT * min(max(p - UNTRIED, LOWEST), HIGHEST)
