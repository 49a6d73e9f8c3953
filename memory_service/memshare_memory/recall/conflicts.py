"""Conflicts: memories of one pool that cannot both be true, as a model or a person has judged them, linked in Redis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import redis

from memshare_broker.wire.comparisons import Compared
from memshare_broker.wire.messages import Message

Verdict = Literal["agree", "contradict", "dismissed", "confirmed"]
"""What is known of two memories: that both may be true, or that they contradict each other; the last two are a
person's word, which a model's does not undo."""

_MARKS: dict[str, Verdict] = {"-": "agree", "+": "contradict", "=": "dismissed", "!": "confirmed"}
_MARK_OF = {verdict: mark for mark, verdict in _MARKS.items()}

_OF_RIVALS = {_MARK_OF["contradict"], _MARK_OF["confirmed"]}

Rivals = dict[UUID, bool]
"""The memories that contradict one, each with whether a person has confirmed it."""


class Conflict(Message):
    """Two memories that contradict each other, what they claim, where a model said it, and whether a person has
    confirmed it."""

    memories: tuple[UUID, UUID]
    claims: str | None = None
    confirmed: bool = False


class Conflicts:
    """The links of all pools, in one Redis: a hash for each, memory → the others with a mark before each.

    Another hash for each has the claims of two that contradict each other.
    """

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._link = client.register_script(_script("link_conflict"))
        self._drop = client.register_script(_script("drop_conflict"))

    def judge(self, pool: str, one: UUID, other: UUID, verdict: Verdict, claims: str | None = None) -> None:
        """Note what is known of two memories; the last word counts, but a model's does not undo a person's."""
        if one != other:
            if claims:
                self._client.hset(claims_key(pool), _both(one, other), claims)
            self._link(keys=[links_key(pool)], args=[str(one), str(other), _MARK_OF[verdict]])

    def note(self, pool: str, compared: Compared, others: Iterable[UUID]) -> None:
        """Note what a model said of a memory and each of those with which it was compared."""
        for other in others:
            claims = compared.contradicted.get(other)
            self.judge(pool, compared.memory_id, other, "agree" if claims is None else "contradict", claims)

    def judged(self, pool: str, memory: UUID) -> set[UUID]:
        """The memories with which one was compared already."""
        [text] = self.ask(self._client, pool, [memory])
        return set(_read(text))

    def rivals(self, pool: str, memories: Sequence[UUID]) -> dict[UUID, Rivals]:
        """Those of some memories that have rivals, with them."""
        return read_rivals(memories, self.ask(self._client, pool, memories)) if memories else {}

    def ask(self, client: redis.Redis, pool: str, memories: Sequence[UUID]) -> Any:
        """Ask for the rivals of some memories, in a pipeline too; `read_rivals` reads the reply."""
        return client.hmget(links_key(pool), [str(one) for one in memories])

    def pairs(self, pool: str) -> list[Conflict]:
        """Every two memories of a pool that contradict each other."""
        links = {UUID(str(one)): str(text) for one, text in self._client.hgetall(links_key(pool)).items()}
        rivals = read_rivals(list(links), links.values())
        found = {(min(one, rival, key=str), max(one, rival, key=str)) for one, of in rivals.items() for rival in of}
        claims = self._client.hgetall(claims_key(pool)) if found else {}
        return [
            Conflict(
                memories=(one, other), claims=claims.get(_both(one, other)), confirmed=rivals[one].get(other, False)
            )
            for one, other in sorted(found, key=str)
        ]

    def drop(self, pool: str, memories: Iterable[UUID]) -> None:
        """Take out memories that are no more, or say something else by now."""
        names = [str(one) for one in memories]
        if names:
            self._drop(keys=[links_key(pool)], args=names)
            gone = [both for both in self._client.hkeys(claims_key(pool)) if not set(names).isdisjoint(both.split())]
            if gone:
                self._client.hdel(claims_key(pool), *gone)


def read_rivals(memories: Sequence[UUID], texts: Iterable[str | None]) -> dict[UUID, Rivals]:
    """Those of some memories that have rivals, as these lie in Redis."""
    found: dict[UUID, Rivals] = {}
    for one, text in zip(memories, texts, strict=True):
        # Most were compared with many, and contradict none: only the ids of those are read.
        words = [word for word in (text or "").split() if word[0] in _OF_RIVALS]
        if words:
            found[one] = {UUID(word[1:]): _MARKS[word[0]] == "confirmed" for word in words}
    return found


def links_key(pool: str) -> str:
    return f"memshare:conflicts:{pool}"


def claims_key(pool: str) -> str:
    return f"memshare:claims:{pool}"


def _both(one: UUID, other: UUID) -> str:
    return " ".join(sorted((str(one), str(other))))


def _read(text: str | None) -> dict[UUID, Verdict]:
    """What is known of a memory and each other one. Links without a mark were made of labels, and say nothing."""
    return {UUID(word[1:]): _MARKS[word[0]] for word in (text or "").split() if word[0] in _MARKS}


@cache
def _script(name: str) -> str:
    return Path(__file__).with_name(f"{name}.lua").read_text()
