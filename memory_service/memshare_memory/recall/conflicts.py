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

Verdict = Literal["agree", "contradict", "dismissed", "confirmed", "right", "wrong"]
"""What is known of a memory and another one: that both may be true, or that they contradict each other. The last four
are a person's word, which a model's does not undo; of two that contradict each other one may be right, the other wrong.
"""

_MARKS: dict[str, Verdict] = {
    "-": "agree",
    "+": "contradict",
    "=": "dismissed",
    "!": "confirmed",
    ">": "right",
    "<": "wrong",
}
_MARK_OF = {verdict: mark for mark, verdict in _MARKS.items()}
_SEEN_FROM_THE_OTHER: dict[Verdict, Verdict] = {"right": "wrong", "wrong": "right"}

_OF_RIVALS = {_MARK_OF[one] for one in ("contradict", "confirmed", "right", "wrong")}

Rivals = dict[UUID, Verdict]
"""The memories that contradict one, each with what is known of it and them."""


class MemoryConflict(Message):
    """Two memories that contradict each other, and what they claim, where a model said it.

    `confirmed` says whether a person has said so, and `right` which of the two is right, where they said that.
    """

    memories: tuple[UUID, UUID]
    claims: str | None = None
    confirmed: bool = False
    right: UUID | None = None


class Conflicts:
    """The links of all pools, in one Redis: a hash for each, memory → the others with a mark before each.

    Another hash for each has the claims of two that contradict each other.
    """

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._link = client.register_script(_script("link_conflict"))
        self._drop = client.register_script(_script("drop_conflict"))

    def judge(self, pool: str, one: UUID, other: UUID, verdict: Verdict, claims: str | None = None) -> None:
        """Note what is known of `one` and `other`; the last word counts, but a model's does not undo a person's."""
        if one != other:
            if claims:
                self._client.hset(claims_key(pool), _both(one, other), claims)
            marks = [_MARK_OF[verdict], _MARK_OF[_SEEN_FROM_THE_OTHER.get(verdict, verdict)]]
            self._link(keys=[links_key(pool)], args=[str(one), str(other), *marks])

    def take_back(self, pool: str, one: UUID, other: UUID) -> bool:
        """Let two memories contradict each other as a model says it, in place of a person's word; False without one."""
        marks = [_MARK_OF["contradict"]] * 2
        return bool(self._link(keys=[links_key(pool)], args=[str(one), str(other), *marks, "1"]))

    def note(self, pool: str, compared: Compared, others: Iterable[UUID]) -> None:
        """Note what a model said of a memory and each of those with which it was compared."""
        for other in others:
            claims = compared.contradicted.get(other)
            self.judge(pool, compared.memory_id, other, "agree" if claims is None else "contradict", claims)

    def judged(self, pool: str, memory: UUID) -> set[UUID]:
        """The memories with which one was compared already."""
        [text] = self.ask(self._client, pool, [memory])
        return {UUID(word[1:]) for word in (text or "").split()}

    def rivals(self, pool: str, memories: Sequence[UUID]) -> dict[UUID, Rivals]:
        """Those of some memories that have rivals, with them."""
        return read_rivals(memories, self.ask(self._client, pool, memories)) if memories else {}

    def wrong(self, pool: str, memories: Sequence[UUID]) -> set[UUID]:
        """Those of some memories that a person found wrong, as another one is right."""
        return {one for one, rivals in self.rivals(pool, memories).items() if "wrong" in rivals.values()}

    def ask(self, client: redis.Redis, pool: str, memories: Sequence[UUID]) -> Any:
        """Ask for the rivals of some memories, in a pipeline too; `read_rivals` reads the reply."""
        return client.hmget(links_key(pool), [str(one) for one in memories])

    def pairs(self, pool: str) -> list[MemoryConflict]:
        """Every two memories of a pool that contradict each other."""
        links = {UUID(str(one)): str(text) for one, text in self._client.hgetall(links_key(pool)).items()}
        rivals = read_rivals(list(links), links.values())
        found = {(min(one, rival, key=str), max(one, rival, key=str)) for one, of in rivals.items() for rival in of}
        claims = self._client.hgetall(claims_key(pool)) if found else {}
        said = {(one, other): rivals[one].get(other, "contradict") for one, other in found}
        return [
            MemoryConflict(
                memories=(one, other),
                claims=claims.get(_both(one, other)),
                confirmed=said[one, other] != "contradict",
                right={"right": one, "wrong": other}.get(said[one, other]),
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
            found[one] = {UUID(word[1:]): _MARKS[word[0]] for word in words}
    return found


def links_key(pool: str) -> str:
    return f"memshare:conflicts:{pool}"


def claims_key(pool: str) -> str:
    return f"memshare:claims:{pool}"


def _both(one: UUID, other: UUID) -> str:
    return " ".join(sorted((str(one), str(other))))


@cache
def _script(name: str) -> str:
    return Path(__file__).with_name(f"{name}.lua").read_text()
