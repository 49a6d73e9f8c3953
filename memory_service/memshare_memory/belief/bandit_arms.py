"""The arms of a pool's memories in Redis, where every worker can add to them at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import redis

from memshare_broker.scripts import Script
from memshare_broker.wire.lessons import Evidence
from memshare_memory.belief.credibility import BANDIT, Arm, Array, Bandit, D
from memshare_memory.belief.trust import waiting_key

INDEX = "memshare:credits_by"
"""Set: whose tasks gave credit in which pools."""
_KIND = "kind "
"""With this begins a field of what tasks of a kind scored; every other one is a memory."""
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
            sums = self._client.hmget(given_key(pool, submitter), [str(one) for one in memories])
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
            arms, usual = arms_key(pool), usual_key(pool)
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
    for one in (has, gave):
        one[1:-1] *= bandit.left(at - one[-1])
    left = [*(has - gave)[:-1], at]
    return None if left[0] < 0.5 else " ".join(f"{number:.17g}" for number in left)


def arms_key(pool: str) -> str:
    """Hash: memory → its arm."""
    return f"memshare:credibility:{pool}"


def usual_key(pool: str) -> str:
    """Hash: kind of task → how many were graded, and the sum of their scores."""
    return f"memshare:usual_scores:{pool}"


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
    """Credit of a memory: its features x, of shape (d,), the reward, and the weight of the reward, 0 to 1."""

    memory: UUID
    x: Array
    reward: float
    weight: float = 1.0


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
        for one in earned:
            a, b = one.weight * np.outer(one.x, one.x)[_UPPER], one.weight * one.reward * one.x
            sums = (1.0, *a, *b, 1.0, today)
            sums_of += [str(one.memory), " ".join(repr(float(number)) for number in sums)]
        counts = CREDIT(
            self._client,
            arms=arms_key(pool),
            marker=f"memshare:credited:{pool}:{task_id}",
            given=given_key(pool, submitter),
            usual=usual_key(pool),
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
            evidence=[part for one in evidence for part in (one.key, one.model_dump_json())],
        )
        return WaitingEvidence(*counts)

    def of(self, pool: str, memories: Sequence[UUID]) -> list[Arm]:
        """The arms of some memories, in their order."""
        return self.read(self.ask(self._client, pool, memories)) if memories else []

    def ask(self, client: redis.Redis, pool: str, memories: Sequence[UUID]) -> Any:
        """Ask for the arms of some memories, in a pipeline too; `read` reads the reply."""
        return client.hmget(arms_key(pool), [str(one) for one in memories])

    def read(self, texts: Iterable[str | None]) -> list[Arm]:
        """Arms as they lie in Redis, as they are now; a memory that was never credited has none there."""
        today, known = self.bandit.today(), [None if text is None else _read(text) for text in texts]
        return [_UNTRIED if one is None else one[0].faded(self.bandit.left(today - one[1])) for one in known]

    def some(self, pool: str, most: int) -> list[Arm]:
        """The arms of up to so many of a pool's memories, chosen at random; all of them have been credited."""
        found = self._client.hrandfield(arms_key(pool), most, withvalues=True) or []
        return self.read(str(text) for text in found[1::2])

    def drop(self, pool: str, memories: Iterable[UUID]) -> None:
        """Forget what memories were worth, and who gave it to them."""
        names = [str(one) for one in memories]
        if names:
            self._client.hdel(arms_key(pool), *names)
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
