"""Gaps of a pool: concepts that nothing is about, thin clusters, and clusters that nothing connects.

They come in one list, by how likely something is missing and how much that is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from math import log
from uuid import UUID

import numpy as np
import redis
from numpy.typing import NDArray

from memshare_concepts.clusters import Cluster, Clusters
from memshare_concepts.concept_graph import ConceptGraph
from memshare_concepts.decisions import Decisions
from memshare_concepts.open_questions import Gap, OpenQuestions, ranked
from memshare_concepts.pool_graph import PoolConcepts, encode
from memshare_memory.door.client import MemoryClient

THIN = 0.5  # a cluster is thin with at most so much of the memories that others have
COMMON = 0.1  # a concept of more than this share of the pool connects nothing: it is everywhere

FEWEST = 3
"""A cluster of fewer memories shares no concept with another by chance: it is thin, and no end of a missing link."""

MOST_PAIRS = 100


def thin(clusters: Clusters) -> list[Gap]:
    """Clusters of the deepest level with half of the memories that the others have, or fewer; the thinnest first."""
    deepest = _deepest(clusters)
    usual = float(np.median([len(cluster.memories) for cluster in deepest])) if deepest else 0.0
    return ranked(_thin(cluster, usual) for cluster in deepest if len(cluster.memories) <= THIN * usual)


def unconnected(
    graph: ConceptGraph, clusters: Clusters, memories: Sequence[UUID], vectors: NDArray[np.float32]
) -> list[Gap]:
    """Pairs of clusters of the deepest level that are close and share no concept but those of the whole pool.

    Close is what has a cosine above that of the usual pair; the closest come first.
    """
    deepest = [cluster for cluster in _deepest(clusters) if len(cluster.memories) >= FEWEST]
    if len(deepest) < 2:
        return []
    place = {memory: number for number, memory in enumerate(memories)}
    centres = np.stack([vectors[[place[memory] for memory in cluster.memories]].mean(axis=0) for cluster in deepest])
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    cosines = (centres @ centres.T).astype(np.float64)
    rows, columns = np.triu_indices(len(deepest), k=1)
    usual = max(float(np.median(cosines[rows, columns])), 0.0)
    concepts = [_concepts(graph, cluster) for cluster in deepest]
    found: list[Gap] = []
    for pair in np.argsort(-cosines[rows, columns], kind="stable").tolist():
        first, second = int(rows[pair]), int(columns[pair])
        if cosines[first, second] <= usual or len(found) == MOST_PAIRS:
            break
        if not concepts[first] & concepts[second]:
            found.append(_pair(deepest[first], deepest[second], float(cosines[first, second])))
    return ranked(found)


def _thin(cluster: Cluster, usual: float) -> Gap:
    count = len(cluster.memories)
    memories = "1 memory is" if count == 1 else f"{count} memories are"
    reason = f"Only {memories} about {cluster.name}; clusters of this level usually have {usual:g}."
    return Gap("thin", (cluster.name,), 1 - count / usual, reason, cluster.memories, (cluster.number,))


def _pair(first: Cluster, second: Cluster, cosine: float) -> Gap:
    names = first.name, second.name
    reason = f"Memories about {names[0]} and {names[1]} say similar things, and no concept connects them."
    return Gap("unconnected", names, cosine, reason, first.memories + second.memories, (first.number, second.number))


def _deepest(clusters: Clusters) -> list[Cluster]:
    levels = clusters.levels()
    return levels[-1] if levels else []


def _concepts(graph: ConceptGraph, cluster: Cluster) -> set[str]:
    return {
        name for memory in cluster.memories for name in graph.levels(memory) if graph.count(name) <= COMMON * len(graph)
    }


Encode = Callable[[Sequence[str]], NDArray[np.float32]]
"""From texts to their vectors, of shape (texts, dimensions) and length 1."""


def find_gaps(
    graph: ConceptGraph,
    clusters: Clusters,
    memories: Sequence[UUID],
    vectors: NDArray[np.float32],
    encode: Encode,
    *,
    dismissed: Collection[str] = (),
    asked: Sequence[str] = (),
    credited: Mapping[UUID, int] | None = None,
) -> list[Gap]:
    """The gaps of a pool, without those whose ids were dismissed, by falling value × need.

    Hidden and stale memories belong in neither `graph` nor `memories`. Scores of different kinds do not compare, so the
    value of a gap is that of its place: 1 for the first of its kind, 1/2 for the second, and so on. What is needed says
    `needs`: `asked` are questions that were asked in vain, `credited` says how often memories were.
    """
    kinds = (
        unexplained(graph, memories, vectors, encode),
        unconnected(graph, clusters, memories, vectors),
        thin(clusters),
    )
    left = [[gap for gap in gaps if gap.id not in dismissed] for gaps in kinds]
    valued = [(gap, 1 / place) for gaps in left for place, gap in enumerate(gaps, 1)]
    needed = needs([gap for gap, _ in valued], asked, credited or {}, encode)
    worth = [(gap, value * need) for (gap, value), need in zip(valued, needed, strict=True)]
    return [gap for gap, _ in sorted(worth, key=lambda pair: -pair[1])]


def gaps_now(
    concepts: PoolConcepts, clusters: Clusters, memory: MemoryClient, client: redis.Redis, decisions: Decisions
) -> list[Gap]:
    """The gaps of a pool that was loaded with its vectors; questions that somebody asked in vain come first."""
    asked = [question.gap for question in OpenQuestions(client, concepts.pool).all() if question.journey is None]
    dismissed = decisions.dismissed()
    found = find_gaps(
        concepts.graph,
        clusters,
        concepts.ids,
        concepts.vectors,
        partial(encode, memory),
        dismissed=dismissed,
        asked=[gap.names[0] for gap in asked],
        credited={judged.memory.id: judged.credibility.credits for judged in memory.judge(concepts.ids)},
    )
    return [gap for gap in asked if gap.id not in dismissed] + found


NAMED_BY, FEW, GENERAL = 2, 5, 1 / 3
"""So many memories have to name a concept, and at most `FEW` or this share of them: what more name is everywhere."""

FREQUENCY = 0.1  # weight of the logarithm of the number of memories that name a concept, beside two cosines


def unexplained(
    graph: ConceptGraph, memories: Sequence[UUID], vectors: NDArray[np.float32], encode: Encode
) -> list[Gap]:
    """Concepts that two memories to a third of them name, and that are the topic of none; the likeliest gap first.

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
    most = max(FEW, GENERAL * len(memories))
    wanted = [name for name, by in named.items() if NAMED_BY <= len(by) <= most and name not in topics]
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


NEAR = 0.5  # cosine from which a question is about a gap


def needs(gaps: Sequence[Gap], asked: Sequence[str], credited: Mapping[UUID, int], encode: Encode) -> list[float]:
    """The need for each gap: 1 + questions about it that were asked in vain + how uncertain its memories are.

    A memory that was credited n times is uncertain by 1 / (1 + n); of those of a gap the mean counts.
    """
    about = _questions_about(gaps, asked, encode)
    return [1 + about[number] + _uncertain(gap, credited) for number, gap in enumerate(gaps)]


def _questions_about(gaps: Sequence[Gap], asked: Sequence[str], encode: Encode) -> list[int]:
    if not gaps or not asked:
        return [0] * len(gaps)
    names = list(dict.fromkeys(name for gap in gaps for name in gap.names))
    near = encode(names) @ encode(asked).T >= NEAR
    rows = dict(zip(names, near, strict=True))
    return [int(np.any([rows[name] for name in gap.names], axis=0).sum()) for gap in gaps]


def _uncertain(gap: Gap, credited: Mapping[UUID, int]) -> float:
    return float(np.mean([1 / (1 + credited.get(memory, 0)) for memory in gap.memories])) if gap.memories else 0.0
