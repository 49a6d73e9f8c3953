"""What a person reviews today: what is due, not two of a cluster on one day, and a few new ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from uuid import UUID

from memshare_concepts.reviews.card import CardState

TOGETHER = 3
"""So many due memories of one cluster are asked for by one question that needs them all."""

Clusters = Mapping[UUID, int]
"""The number of the cluster of each memory; one that is in none may be reviewed beside any other."""


@dataclass(frozen=True)
class ReviewPlan:
    """The memories of a day, in the order in which they are asked."""

    due: tuple[UUID, ...]
    """One at a time, the one that is likeliest to be forgotten first."""
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
    taken = {clusters[one]: one for one in seen_today if one in clusters}
    waiting = sorted(
        (one for one, standing in standings.items() if standing.due <= now),
        key=lambda one: (standings[one].probability, one),
    )
    groups = _groups(waiting, standings, clusters, taken) if together else []
    taken |= {clusters[group[0]]: group[0] for group in groups}
    grouped = {one for group in groups for one in group}
    due: list[UUID] = []
    later: list[UUID] = []
    new: list[UUID] = []
    for one in waiting:
        if one not in grouped:
            (due if _is_free(one, clusters, taken) else later).append(one)
    for one in suggested:
        if len(new) < most_new and _is_free(one, clusters, taken):
            new.append(one)
    return ReviewPlan(tuple(due), tuple(groups), tuple(later), tuple(new))


def start_of_day(now: float) -> float:
    """When the day began, where the person is."""
    local = datetime.fromtimestamp(now).astimezone()
    return datetime.combine(local.date(), time(), local.tzinfo).timestamp()


def _is_free(one: UUID, clusters: Clusters, taken: dict[int, UUID]) -> bool:
    """Whether no other memory of its cluster is taken; takes the cluster for it."""
    return one not in clusters or taken.setdefault(clusters[one], one) == one


def _groups(
    waiting: Sequence[UUID], standings: Mapping[UUID, CardState], clusters: Clusters, taken: Mapping[int, UUID]
) -> list[tuple[UUID, ...]]:
    """The first due memories of each cluster that has enough of them; only those that were learnt before."""
    found: dict[int, list[UUID]] = {}
    for one in waiting:
        if one in clusters and clusters[one] not in taken and standings[one].learnt:
            found.setdefault(clusters[one], []).append(one)
    return [tuple(of[:TOGETHER]) for of in found.values() if len(of) >= TOGETHER]
