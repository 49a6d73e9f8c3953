"""Credibility: what memories have been worth, as a contextual bandit (LinUCB) with one arm for each memory.

DynaMind (arXiv 2310.14248) lets knowledge prove itself in this way. An arm is A = I + Σ w·xxᵀ and b = Σ w·r·x over the
times that its memory was shown, with x the features, r the reward (`memshare_memory.admit.crediting`) and w the
memory's share in the answer, 1 where nobody judged it. Its estimate of the reward in a context x, and how far it may be
off, are θᵀx and √(xᵀA⁻¹x) with θ = A⁻¹b.

Knowledge ages: of Σ w·xxᵀ, and of b, half is left after each half-life, until the arm is one that was never tried.

As every x has length 1 and a bias of the same size, a memory that always earned 1 or more, whatever its shares, is in
every context at least as credible as one that was never tried. Arms lie in Redis, where all workers can add to them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import redis
from numpy.typing import NDArray

from memshare_broker.scripts import Script
from memshare_broker.wire.lessons import Evidence
from memshare_memory.belief.trust import waiting_key
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
    bounds: Array = np.full(len(arms), UNTRIED)
    if tried := [place for place, arm in enumerate(arms) if arm.is_tried]:
        inverse, b = np.linalg.inv(np.stack([arms[at].a for at in tried])), np.stack([arms[at].b for at in tried])
        b[:, 0] += (UNTRIED - alpha) * sqrt(2)
        theta, x = np.einsum("nij,nj->ni", inverse, b), x[tried]
        doubt = np.sqrt(np.einsum("ni,nij,nj->n", x, inverse, x))
        bounds[tried] = np.round(np.einsum("ni,ni->n", theta, x) + alpha * doubt, 12)
    return bounds


def most_that_keeps(arm: Arm, x: Array, of: Sequence[Array], weight: float = 1.0, alpha: float = ALPHA) -> float:
    """The largest reward of this weight in a context x that raises an arm's p in no context `of` some, 0 or more."""
    inverse = np.linalg.inv(arm.a)
    estimate = x @ inverse @ (arm.b + np.eye(len(x))[0] * (UNTRIED - alpha) * sqrt(2))
    here = 1 / weight + x @ inverse @ x
    most = [float("inf")]
    for context in of:
        doubt, both = context @ inverse @ context, x @ inverse @ context
        if both > 0:  # else a reward lowers it
            most.append(estimate + alpha * (sqrt(doubt) - sqrt(doubt - both**2 / here)) * here / both)
    return max(float(min(most)), 0.0)


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


ARMS = "memshare:credibility:"  # of a pool, a hash: memory → its arm
USUAL_SCORES = "memshare:usual_scores:"
"""Of a pool, a hash: kind of task → how many were graded, and the sum of their scores."""
INDEX = "memshare:credits_by"  # set: whose tasks gave credit in which pools
_KIND = "kind "  # with this begins a field of what tasks of a kind scored; every other one is a memory
_BETWEEN = "\x1f"  # stands in no name of a pool or a submitter
_AT_ONCE = 200  # Redis serves nobody else while a script runs
_SIZE = D * (D + 1) // 2 + D + 3  # numbers of an arm
_SINCE = 20_784  # 2026-11-27, in days since 1970: from when on credit fades that was given before it did

KEEP_FAIR = Path(__file__).with_name("keep_fair.lua")
"""The Lua function by which a hash of people's words is bounded, to stand before a script that calls it."""
_ADD_SUMS = Path(__file__).with_name("add_sums.lua")
CREDIT = Script(__file__, "credit", _ADD_SUMS, KEEP_FAIR, index=INDEX, size=_SIZE, since=_SINCE)
TAKE_BACK_CREDIT = Script(__file__, "take_back_credit", _ADD_SUMS, size=_SIZE, since=_SINCE)


class GivenCredit:
    """For every pool and submitter a hash: memory → the sums that their tasks added to its arm."""

    def __init__(self, client: redis.Redis, bandit: Bandit = BANDIT) -> None:
        self._client = client
        self._bandit = bandit

    def of(self, pool: str, memories: Sequence[UUID]) -> dict[UUID, dict[str, str]]:
        """The memories among these that were credited, with the sums of each submitter."""
        found: dict[UUID, dict[str, str]] = {}
        for submitter in self._submitters(pool) if memories else ():
            sums = self._client.hmget(given_key(pool, submitter), [str(memory) for memory in memories])
            for memory, text in zip(memories, sums, strict=True):
                if text is not None:
                    found.setdefault(memory, {})[submitter] = str(text)
        return found

    def put_back(self, pool: str, memory: UUID, sums: Mapping[str, str]) -> None:
        """Note what submitters gave to a memory that is back with what it was worth."""
        for submitter, text in sums.items():
            self._client.hset(given_key(pool, submitter), str(memory), text)
            self._client.sadd(INDEX, member_of(pool, submitter))

    def drop(self, pool: str, names: Sequence[str]) -> None:
        """Forget who gave credit to some memories, by their ids."""
        for submitter in self._submitters(pool):
            self._client.hdel(given_key(pool, submitter), *names)
            self._client.hdel(last_words_key(pool, submitter), *names)
            if not self._client.exists(given_key(pool, submitter)):  # it gave nothing to what is left
                self._client.srem(INDEX, member_of(pool, submitter))

    def credited_by(self, submitter: str) -> set[UUID]:
        """The memories to which a submitter's tasks gave credit."""
        fields = (self._client.hkeys(given_key(pool, submitter)) for pool in self._pools(submitter))
        return {UUID(str(field)) for some in fields for field in some if not str(field).startswith(_KIND)}

    def others_speak(self, pool: str, submitter: str) -> bool:
        """True if tasks of anybody else gave credit in a pool, or counted towards its usual score."""
        return any(of != submitter for of in self._submitters(pool))

    def take_back(self, submitter: str) -> int:
        """Subtract what is left of all that a submitter's tasks gave, also to what is usual; returns from how many."""
        taken, today, half_life = 0, self._bandit.today(), self._bandit.half_life
        for pool in self._pools(submitter):
            key = given_key(pool, submitter)
            self._client.delete(last_words_key(pool, submitter))
            arms, usual = ARMS + pool, USUAL_SCORES + pool
            fields = [str(field) for field in self._client.hkeys(key)]
            for start in range(0, len(fields), _AT_ONCE):
                some = fields[start : start + _AT_ONCE]
                of = TAKE_BACK_CREDIT(
                    self._client, arms=arms, given=key, usual=usual, today=today, half_life=half_life, fields=some
                )
                taken += int(of)
            if not self._client.exists(key):
                self._client.srem(INDEX, member_of(pool, submitter))
        return taken

    def forget(self, submitter: str) -> None:
        """Forget a submitter's name: what their tasks gave stays, and nobody knows from whom it is."""
        for pool in self._pools(submitter):
            self._client.delete(given_key(pool, submitter), last_words_key(pool, submitter))
            self._client.srem(INDEX, member_of(pool, submitter))

    def _submitters(self, pool: str) -> Iterator[str]:
        return (of for name, of in self._index() if name == pool)

    def _pools(self, submitter: str) -> list[str]:
        return [pool for pool, of in self._index() if of == submitter]

    def _index(self) -> list[tuple[str, str]]:
        pairs = (str(member).partition(_BETWEEN) for member in self._client.smembers(INDEX))
        return sorted((pool, submitter) for pool, _, submitter in pairs)


def less(sums: str, given: str, bandit: Bandit = BANDIT) -> str | None:
    """The sums of an arm without what is left of what somebody gave; None where that was all of its credit."""
    has, gave = _numbers(sums), _numbers(given)
    at = max(has[-1], gave[-1])
    for numbers in (has, gave):
        numbers[1:-1] *= bandit.left(at - numbers[-1])
    left = [*(has - gave)[:-1], at]
    return None if left[0] < 0.5 else " ".join(f"{number:.17g}" for number in left)


def given_key(pool: str, submitter: str) -> str:
    return f"{INDEX}:{member_of(pool, submitter)}"


def last_words_key(pool: str, submitter: str) -> str:
    """Hash: memory → what this submitter's last word from outside added to its arm."""
    return f"memshare:last_words:{member_of(pool, submitter)}"


def member_of(pool: str, submitter: str) -> str:
    return f"{pool}{_BETWEEN}{submitter}"


# An arm is one line of text: how many credits, the upper triangle of Σ w·xxᵀ row by row, b, how many credits are left,
# and the day, since 1970, on which all but the first were so. Reading numbers gives the same ones as were written.
KEEP_MARKER_DAYS = 7.0
_UPPER = np.triu_indices(D)
_PLACES = np.zeros((D, D), dtype=np.intp)  # of the numbers of a symmetric matrix in its upper triangle
_PLACES[_UPPER] = np.arange(len(_UPPER[0]))
_PLACE_OF = np.maximum(_PLACES, _PLACES.T).ravel()
_UNTRIED = Arm.untried()


class Credit(NamedTuple):
    """Credit of a memory: its features x, of shape (d,), the reward, and the weight of the reward, 0 to 1.

    With 0 `times` it is none: it only takes back what it replaces.
    """

    memory: UUID
    x: Array
    reward: float
    weight: float = 1.0
    times: float = 1.0


class GradeOfKind(NamedTuple):
    """Score of a graded task of some kind, 0 to 100."""

    kind: str | None
    score: float


class WaitingEvidence(NamedTuple):
    """How many words of evidence of a pool wait for its trainer, and how many of them are new."""

    words: int = 0
    new: int = 0


class Arms:
    """The arms of all pools, in one Redis."""

    def __init__(self, client: redis.Redis, keep_days: float = KEEP_MARKER_DAYS, bandit: Bandit = BANDIT) -> None:
        """For `keep_days` it is known that a task has credited: no shorter than it may be tried again."""
        self._client = client
        self._keep = int(keep_days * 86_400)
        self._given = GivenCredit(client)
        self.bandit = bandit

    def add(
        self,
        pool: str,
        task_id: str,
        earned: Sequence[Credit],
        *,
        submitter: str = "anonymous",
        graded: GradeOfKind | None = None,
        replaces: bool = False,
        evidence: Sequence[Evidence] = (),
        encoder: str = "",
    ) -> WaitingEvidence:
        """Credit what a task was shown of a pool, in one step and once a task.

        A task of this pool that was `graded` counts in what is usual for its kind, whatever it was shown. With
        `replaces` a credit is the submitter's word about a memory: it takes the place of their last one. `evidence`,
        with vectors of the `encoder`, waits for the trainer.
        """
        if not earned and graded is None and not evidence:
            return WaitingEvidence()
        sums_of: list[str] = []
        today = self.bandit.today()
        for credit in earned:
            a, b = credit.weight * np.outer(credit.x, credit.x)[_UPPER], credit.weight * credit.reward * credit.x
            sums = (credit.times, *a, *b, credit.times, today)
            sums_of += [str(credit.memory), " ".join(repr(float(number)) for number in sums)]
        counts = CREDIT(
            self._client,
            arms=ARMS + pool,
            marker=f"memshare:credited:{pool}:{task_id}",
            given=given_key(pool, submitter),
            usual=USUAL_SCORES + pool,
            waiting=waiting_key(pool, encoder),
            last_words=last_words_key(pool, submitter),
            seconds=self._keep,
            member=member_of(pool, submitter),
            kind=(graded.kind or "") if graded else "",
            score=graded.score if graded else "",
            replaces=replaces,
            today=today,
            half_life=self.bandit.half_life,
            credits=sums_of,
            evidence=[part for word in evidence for part in (word.key, word.model_dump_json())],
        )
        return WaitingEvidence(*counts)

    def of(self, pool: str, memories: Sequence[UUID]) -> list[Arm]:
        """The arms of some memories, in their order."""
        return self.read(self.ask(self._client, pool, memories)) if memories else []

    def ask(self, client: redis.Redis, pool: str, memories: Sequence[UUID]) -> Any:
        """Ask for the arms of some memories, in a pipeline too; `read` reads the reply."""
        return client.hmget(ARMS + pool, [str(memory) for memory in memories])

    def read(self, texts: Iterable[str | None]) -> list[Arm]:
        """Arms as they lie in Redis, as they are now; a memory that was never credited has none there."""
        today, known = self.bandit.today(), [None if text is None else _read(text) for text in texts]
        return [_UNTRIED if arm is None else arm[0].faded(self.bandit.left(today - arm[1])) for arm in known]

    def some(self, pool: str, most: int) -> list[Arm]:
        """The arms of up to so many of a pool's memories, chosen at random; all of them have been credited."""
        found = self._client.hrandfield(ARMS + pool, most, withvalues=True) or []
        return self.read(str(text) for text in found[1::2])

    def drop(self, pool: str, memories: Iterable[UUID]) -> None:
        """Forget what memories were worth, and who gave it to them."""
        names = [str(memory) for memory in memories]
        if names:
            self._client.hdel(ARMS + pool, *names)
            self._given.drop(pool, names)


@lru_cache(maxsize=20_000)
def _read(text: str) -> tuple[Arm, float]:
    """An arm, and the day on which it was so."""
    numbers = _numbers(text)
    a = numbers[1 : 1 + len(_UPPER[0])][_PLACE_OF].reshape(D, D)
    return Arm(a + np.eye(D), numbers[-D - 2 : -2], int(numbers[0]), float(numbers[-2])), float(numbers[-1])


def _numbers(text: str) -> Array:
    numbers = np.array(text.split(), dtype=np.float64)
    return numbers if len(numbers) == _SIZE else np.append(numbers, (numbers[0], _SINCE))
