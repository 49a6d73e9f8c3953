"""A gap: something that a pool is likely to lack, with the reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal
from uuid import UUID

from memshare_concepts.names import key

Kind = Literal["unexplained", "thin", "unconnected", "asked"]


@dataclass(frozen=True)
class Gap:
    """What is missing."""

    kind: Kind
    """`unexplained`: a concept that memories name and none is about; `thin`: a cluster of few memories;
    `unconnected`: two clusters that are close and have no concept in common; `asked`: a question that the memories
    could not answer."""
    names: tuple[str, ...]
    """The concept, what the clusters are called, or the question."""
    score: float
    """Within its kind, how likely it is that something is missing; above 0."""
    reason: str
    memories: tuple[UUID, ...]
    """Where it shows: the memories that name the concept, or those of the clusters."""
    clusters: tuple[int, ...] = ()

    @property
    def id(self) -> str:
        """What stays the same as the pool grows, so that a gap which was dismissed stays so."""
        if self.kind == "asked":  # a question is too long to be typed
            return f"asked:{blake2b(key(self.names[0]).encode(), digest_size=5).hexdigest()}"
        return ":".join([self.kind, *sorted(key(name) for name in self.names)])


def ranked(gaps: Iterable[Gap]) -> list[Gap]:
    """Gaps by falling score, of equals by their id."""
    return sorted(gaps, key=lambda gap: (-gap.score, gap.id))
