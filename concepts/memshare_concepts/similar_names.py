"""Finds concepts whose names mean nearly the same, to be merged or proposed to a person."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memshare_concepts.decisions import Decisions, similar_id
from memshare_concepts.graph.concept_graph import ConceptGraph
from memshare_concepts.names import may_merge

MERGE, PROPOSE = 0.95, 0.85
"""Cosines from which two names are merged, and from which a person is asked."""

ROWS = 1024  # names that are compared with all others at a time


class SimilarNames(NamedTuple):
    """Two names with nearly the same meaning; the first is the one to keep."""

    keep: str
    other: str
    similarity: float

    @property
    def certain(self) -> bool:
        """Whether to merge without asking a person."""
        return self.similarity >= MERGE


def similar_names(names: Sequence[str], vectors: NDArray[np.float32], counts: Sequence[int]) -> list[SimilarNames]:
    """Pairs of names by falling cosine. The name that more memories have is kept, of equals the first in the alphabet.

    `vectors`, of shape (names, dimensions), are the encoder's, of length 1; `counts` say how many memories have each.
    """
    allowed = np.array([number for number, name in enumerate(names) if may_merge(name)], np.intp)
    chosen = vectors[allowed]
    found = []
    for start in range(0, len(allowed), ROWS):
        cosines = chosen[start : start + ROWS] @ chosen.T
        for row, column in zip(*np.nonzero(cosines >= PROPOSE), strict=True):
            if start + row < column:
                pair = sorted((allowed[start + row], allowed[column]), key=lambda one: (-counts[one], names[one]))
                found.append(SimilarNames(names[pair[0]], names[pair[1]], float(min(cosines[row, column], 1))))
    return sorted(found, key=lambda one: (-one.similarity, one.keep, one.other))


def proposed_names(
    graph: ConceptGraph, encode: Callable[[Sequence[str]], NDArray[np.float32]], decisions: Decisions
) -> list[SimilarNames]:
    """The similar names of a pool, without those that a person keeps apart; `encode` gives the vectors of texts."""
    names = graph.concepts()
    pairs = similar_names(names, encode(names), [graph.count(name) for name in names])
    dismissed = decisions.dismissed()
    return [pair for pair in pairs if similar_id(pair.keep, pair.other) not in dismissed]
