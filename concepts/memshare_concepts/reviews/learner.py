"""A person and the pool that they learn: what they know of it now, and what they review today."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from pathlib import Path
from uuid import UUID

from fsrs import Card as FsrsCard

from memshare_concepts.clusters.cluster_cache import clusters_of
from memshare_concepts.clusters.clustering import SIZE
from memshare_concepts.graph.concept_graph import ConceptGraph
from memshare_concepts.pool_graph import load
from memshare_concepts.reviews.card import (
    WELL_KNOWN,
    Card,
    CardState,
    CardStore,
    Grade,
    Ungraded,
    replayed,
    standing_of,
)
from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import Memory
from memshare_memory.stores.store import Where

TOGETHER = 3
"""So many due memories of one cluster are asked for by one question that needs them all."""

Clusters = Mapping[UUID, int]
"""The number of the cluster of each memory; one that is in none may be reviewed beside any other."""


@dataclass(frozen=True)
class ReviewPlan:
    """The memories of a day, in the order in which they are asked."""

    due: tuple[UUID, ...]
    """Memories to ask one at a time, the likeliest to be forgotten first."""
    together: tuple[tuple[UUID, ...], ...]
    """Several of a cluster, by one question that needs all of them."""
    later: tuple[UUID, ...]
    """Due as well, but another of their cluster is reviewed today."""
    new: tuple[UUID, ...]
    """Not reviewed before."""


def plan(
    standings: Mapping[UUID, CardState],
    suggested: Sequence[UUID],
    clusters: Clusters,
    seen_today: Collection[UUID],
    now: float,
    *,
    most_new: int,
    together: bool,
) -> ReviewPlan:
    """The day of a person who knows memories so well, and was shown `seen_today` already.

    `suggested` are memories without a card, the best first. A memory in its first steps of minutes comes back on the
    same day: it stands in nobody's way but that of its cluster.
    """
    taken = {clusters[memory]: memory for memory in seen_today if memory in clusters}
    waiting = sorted(
        (memory for memory, standing in standings.items() if standing.due <= now),
        key=lambda memory: (standings[memory].probability, memory),
    )
    groups = _groups(waiting, standings, clusters, taken) if together else []
    taken |= {clusters[group[0]]: group[0] for group in groups}
    grouped = {memory for group in groups for memory in group}
    due: list[UUID] = []
    later: list[UUID] = []
    new: list[UUID] = []
    for memory in waiting:
        if memory not in grouped:
            (due if _is_free(memory, clusters, taken) else later).append(memory)
    for memory in suggested:
        if len(new) < most_new and _is_free(memory, clusters, taken):
            new.append(memory)
    return ReviewPlan(tuple(due), tuple(groups), tuple(later), tuple(new))


def start_of_day(now: float) -> float:
    """When the day began, where the person is."""
    local = datetime.fromtimestamp(now).astimezone()
    return datetime.combine(local.date(), time(), local.tzinfo).timestamp()


def _is_free(memory: UUID, clusters: Clusters, taken: dict[int, UUID]) -> bool:
    """True if no other memory of its cluster is taken; takes the cluster for it."""
    return memory not in clusters or taken.setdefault(clusters[memory], memory) == memory


def _groups(
    waiting: Sequence[UUID], standings: Mapping[UUID, CardState], clusters: Clusters, taken: Mapping[int, UUID]
) -> list[tuple[UUID, ...]]:
    """The first due memories of each cluster that has enough of them; only those that were learnt before."""
    found: dict[int, list[UUID]] = {}
    for memory in waiting:
        if memory in clusters and clusters[memory] not in taken and standings[memory].learnt:
            found.setdefault(clusters[memory], []).append(memory)
    return [tuple(of[:TOGETHER]) for of in found.values() if len(of) >= TOGETHER]


class ReviewLearner:
    """A person's knowledge of a pool. Only memories with a question can be asked, so statements are left out."""

    def __init__(
        self, shelf: CardStore, pool: str, memories: Mapping[UUID, Memory], graph: ConceptGraph, clusters: Clusters
    ) -> None:
        self.shelf = shelf
        self.pool = pool
        self.memories = {memory_id: memory for memory_id, memory in memories.items() if memory.prompt is not None}
        self.clusters = clusters
        self._graph = graph
        self._cards = shelf.cards(pool)
        self._replayed: dict[UUID, FsrsCard] = {}

    @classmethod
    def of(cls, memory: MemoryClient, shelf: CardStore, pool: str, data: Path) -> ReviewLearner:
        """A person and a pool as they are now; clusters are those of the memories whose concepts are known.

        They are kept in the data folder.
        """
        concepts = load(memory, shelf.client, pool, vectors=True)
        memories = concepts.memories
        if concepts.without:
            memories = {each.id: each for each in memory.every(Where(pool=pool, status="active"))}
        clusters = clusters_of(concepts, data, SIZE) if concepts.memories else None
        of = {memory_id: clusters.of(memory_id).number for memory_id in concepts.ids} if clusters else {}
        return cls(shelf, pool, memories, concepts.graph, of)

    @property
    def cards(self) -> dict[UUID, Card]:
        """The cards of memories that are there."""
        return {memory: card for memory, card in self._cards.items() if memory in self.memories}

    @property
    def ungraded(self) -> list[Ungraded]:
        """Answers that the person typed before they were stopped, and that nobody graded."""
        return [review for review in self.shelf.ungraded(self.pool) if self.memories.keys() >= set(review.memories)]

    def standings(self, now: float) -> dict[UUID, CardState]:
        """How well each memory is known that was reviewed."""
        for memory, card in self.cards.items():
            if card.reviews and memory not in self._replayed:
                self._replayed[memory] = replayed(card.reviews)
        return {memory: standing_of(card, now) for memory, card in self._replayed.items()}

    def suggested(self, now: float) -> list[UUID]:
        """Memories that were never reviewed, those next to what is well known first."""
        standings = self.standings(now)
        known = [
            memory for memory, standing in standings.items() if standing.probability > WELL_KNOWN and standing.learnt
        ]
        fresh = suggestions(self._graph, list(self.memories.values()), standings.keys(), known)
        return [memory.id for memory in fresh]

    def plan(self, now: float, suggested: Sequence[UUID], *, most_new: int, together: bool) -> ReviewPlan:
        """The rest of the day's plan. `most_new` memories are new in a day."""
        today = start_of_day(now)
        reviewed = {memory: card.reviews for memory, card in self.cards.items() if card.reviews}
        begun = sum(reviews[0].at >= today for reviews in reviewed.values())
        return plan(
            self.standings(now),
            [memory for memory in suggested if memory not in reviewed],
            self.clusters,
            [memory for memory, reviews in reviewed.items() if reviews[-1].at >= today],
            now,
            most_new=max(0, most_new - begun),
            together=together,
        )

    def answer(self, memories: Sequence[UUID], question: str, answer: str) -> None:
        """Keep what was typed until it is graded."""
        review = Ungraded(pool=self.pool, memories=tuple(memories), question=question, answer=answer)
        self.shelf.note_answer(review)

    def review(self, memories: Sequence[UUID], grade: Grade, at: float) -> None:
        """Note how well these were remembered."""
        self._cards |= self.shelf.review(self.pool, memories, grade, at)
        for memory in memories:
            self._replayed.pop(memory, None)


def suggestions(
    graph: ConceptGraph, memories: Sequence[Memory], reviewed: Collection[UUID], well_known: Collection[UUID]
) -> list[Memory]:
    """The memories without a review, those first whose concepts are most like those of one that is well known.

    Of equals, such as all of them where nothing is well known yet, the better grade comes first.
    """
    fresh = [memory for memory in memories if memory.id not in reviewed]
    near = dict.fromkeys((memory.id for memory in fresh), 0.0)
    with_concepts = [memory.id for memory in fresh if memory.id in graph]
    known = [memory for memory in well_known if memory in graph]
    if known and with_concepts:
        alike = (graph.matrix(with_concepts) @ graph.matrix(known).T).max(axis=1).toarray().ravel()
        near |= dict(zip(with_concepts, alike.tolist(), strict=True))
    return sorted(fresh, key=lambda memory: (-round(near[memory.id], 6), -(memory.score or 0), memory.id))
