"""Concepts that memories name and that no memory is about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memshare_concepts.gap import Gap, ranked
from memshare_concepts.graph.concept_graph import ConceptGraph

Encode = Callable[[Sequence[str]], NDArray[np.float32]]
"""From texts to their vectors, of shape (texts, dimensions) and length 1."""

NAMED_BY = 2
"""So many memories have to name a concept."""

FREQUENCY = 0.1
"""What the logarithm of how many do counts beside two cosines."""


def unexplained(
    graph: ConceptGraph,
    memories: Sequence[UUID],
    vectors: NDArray[np.float32],
    encode: Encode,
) -> list[Gap]:
    """Concepts that two memories or more name, and that are the topic of none; the likeliest gap first.

    `vectors`, of shape (memories, dimensions) and length 1, are those of the memories, which the graph has. A gap is
    likely where the name is close to what the memories that name it say, where it is close to a topic of the pool, and
    where many name it:

        score = mean cosine to those memories + largest cosine to a topic + .1 ln(1 + how many)
    """
    place = {memory: number for number, memory in enumerate(memories)}
    topics = {topic for memory in memories if (topic := graph.topic(memory)) is not None}
    named: dict[str, list[UUID]] = {}
    for memory in sorted(memories):
        for name in graph.levels(memory):
            named.setdefault(name, []).append(memory)
    wanted = [name for name, by in named.items() if len(by) >= NAMED_BY and name not in topics]
    if not wanted or not topics:
        return []
    meanings = encode(wanted)
    to_topics = (meanings @ encode(sorted(topics)).T).max(axis=1)
    found = []
    for name, meaning, to_topic in zip(wanted, meanings, to_topics.tolist(), strict=True):
        by = named[name]
        to_memories = float((vectors[[place[memory] for memory in by]] @ meaning).mean())
        score = max(to_memories + to_topic + FREQUENCY * log(1 + len(by)), 1e-9)
        reason = f"{len(by)} memories name {name}, and none is about it."
        found.append(Gap("unexplained", (name,), score, reason, tuple(by)))
    return ranked(found)
