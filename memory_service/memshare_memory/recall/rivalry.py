"""Rivalry: of two memories that contradict each other, which stands behind, and whether it is shown at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from memshare_broker.wire.comparisons import LONGEST_TEXT
from memshare_memory.memory import Memory, folded
from memshare_memory.recall.conflicts import Rivals
from memshare_memory.stores.store import Hit

TOLD_APART = 0.2  # of p, by which credibility tells two memories apart …
CREDITED = 3  # … of which the less credible one was credited so often or more: one wrong verdict decides nothing


SAME_QUESTION = 0.9  # cosine of two prompts, from which two answers are compared …
NEAR_CURATED = 0.8  # … and from which one is with what a person brought in


def same_question(other: Memory) -> float:
    """The cosine of prompts from which on a memory is compared with another one."""
    return NEAR_CURATED if other.task_id is None else SAME_QUESTION


class Strength(NamedTuple):
    """What decides between two, where no person did: the proven, then the more credible, of equal ones the older."""

    p: float
    age: float
    credits: int = 0
    proven: bool = True

    def beats(self, other: Strength) -> bool:
        return (self.proven, round(self.p, 9), self.age) > (other.proven, round(other.p, 9), other.age)

    def has_settled(self, other: Strength) -> bool:
        """Whether credits alone tell that the other one is the worse."""
        return self.p - other.p >= TOLD_APART and other.credits >= CREDITED


class Weaker(NamedTuple):
    """A memory that a rival beats: the rivals that do, and whether it is left out for it."""

    behind: set[UUID]
    is_left_out: bool


def weaker(rivals: Mapping[UUID, Rivals], strength: Mapping[UUID, Strength]) -> dict[UUID, Weaker]:
    """Those of some memories that a rival beats. `strength` is of all that could be shown; others are no rivals.

    A person's word on which of two is right counts more than their strength. One is left out where a person has
    confirmed the conflict, or where credibility has told the two apart.
    """
    found: dict[UUID, Weaker] = {}
    for one, of in rivals.items():
        own = strength.get(one)
        if own is None:
            continue
        better = {
            rival: strength[rival]
            for rival, said in of.items()
            if rival in strength and (said == "wrong" or (said != "right" and strength[rival].beats(own)))
        }
        if better:
            is_left_out = any(of[rival] != "contradict" or how.has_settled(own) for rival, how in better.items())
            found[one] = Weaker(set(better), is_left_out)
    return found


def beside_proven_rivals(hits: Sequence[Hit], rivals: Mapping[UUID, Rivals]) -> set[UUID]:
    """The unproven ones of some hits of which a rival among them is proven, unless a person said they are right."""
    proven = {hit.memory.id for hit in hits if hit.proven}
    return {
        hit.memory.id
        for hit in hits
        if not hit.proven
        and any(rival in proven and said != "right" for rival, said in rivals.get(hit.memory.id, {}).items())
    }


def is_uncompared(hit: Hit, proven: Hit, similarity: float) -> bool:
    """Whether nobody has said yet if an unproven memory contradicts a proven one that answers the same question.

    Nobody ever says it of what is longer than is compared.
    """
    if hit.judged is None or similarity < same_question(proven.memory):
        return False
    same = folded(hit.memory.answer) == folded(proven.memory.answer)
    is_long = max(len(hit.memory.prompt or ""), len(hit.memory.answer)) > LONGEST_TEXT
    return not same and (is_long or proven.memory.id not in hit.judged)


def behind_rivals(ranked: Sequence[Hit], beaten: Mapping[UUID, Weaker]) -> list[Hit]:
    """The hits, best first, with each one behind those that beat it; one whose rival was not found comes last."""
    left, ordered = list(ranked), list[Hit]()
    there: set[UUID] = set()

    def may_come(hit: Hit) -> bool:
        return hit.memory.id not in beaten or beaten[hit.memory.id].behind <= there

    while (place := next((at for at, hit in enumerate(left) if may_come(hit)), None)) is not None:
        ordered.append(left.pop(place))
        there.add(ordered[-1].memory.id)
    return [*ordered, *left]
