"""New memories for a person: next to what they know well."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

from memshare_concepts.graph.concept_graph import ConceptGraph
from memshare_memory.memory import Memory


def suggestions(
    graph: ConceptGraph, memories: Sequence[Memory], reviewed: Collection[UUID], well_known: Collection[UUID]
) -> list[Memory]:
    """The memories without a review, those first whose concepts are most like those of one that is well known.

    Of equals, such as all of them where nothing is well known yet, the better grade comes first.
    """
    fresh = [one for one in memories if one.id not in reviewed]
    near = dict.fromkeys((one.id for one in fresh), 0.0)
    with_concepts = [one.id for one in fresh if one.id in graph]
    known = [one for one in well_known if one in graph]
    if known and with_concepts:
        alike = (graph.matrix(with_concepts) @ graph.matrix(known).T).max(axis=1).toarray().ravel()
        near |= dict(zip(with_concepts, alike.tolist(), strict=True))
    return sorted(fresh, key=lambda one: (-round(near[one.id], 6), -(one.score or 0), one.id))
