"""The map of a pool as one HTML page that needs nothing beside itself.

The data stands in the page as JSON lines, one for each memory, so that a purged memory can be taken out of the file.
The page shows every text as text: nothing of it is read as markup or script.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from memshare.broker.observe.plain_text import plain
from memshare.concepts.clusters.cluster import Cluster, Clusters
from memshare.concepts.map_layout import MapLayout, Spot, lay_out
from memshare.concepts.pool_graph import PoolConcepts
from memshare.memory_service.memory import Memory

_MARK = "@DATA@"
_PROMPT, _ANSWER = 300, 600  # characters that are shown
_TOPICS = 5  # of a cluster


@dataclass(frozen=True)
class Colours:
    """What memories are coloured by, beside their cluster and their score."""

    credibility: Mapping[UUID, float]
    remembered: Mapping[UUID, float] = field(default_factory=dict)
    """The probability that a person remembers a memory that they reviewed."""
    person: str | None = None


def map_page(concepts: PoolConcepts, clusters: Clusters, colours: Colours, made: datetime) -> Iterator[str]:
    """The page, part by part."""
    before, after = Path(__file__).with_suffix(".html").read_text(encoding="utf-8").split(_MARK)
    layout = lay_out(clusters)
    levels = clusters.levels()
    head = {
        "pool": plain(concepts.pool),
        "person": plain(colours.person or ""),
        "made": f"{made:%Y-%m-%d %H:%M} UTC",
        "clusters": [_cluster(one, layout, deepest=level is levels[-1]) for level in levels for one in level],
    }
    yield before
    yield _line(head)
    for memory in concepts.memories.values():
        topic = concepts.graph.topic(memory.id)
        yield "\n" + _line(_memory(memory, topic, clusters.of(memory.id).number, layout.memories[memory.id], colours))
    yield after


def _cluster(one: Cluster, layout: MapLayout, *, deepest: bool) -> dict[str, Any]:
    topics = [plain(topic.name) for topic in one.topics[:_TOPICS]]
    found = {
        "number": one.number, "name": plain(one.name), "topics": topics, "count": len(one.memories),
        "level": one.level, "parent": one.parent, "children": one.children, "deepest": deepest,
    }  # fmt: skip
    return found | _place(layout.clusters[one.number]) if deepest else found


def _memory(memory: Memory, topic: str | None, cluster: int, spot: Spot, colours: Colours) -> dict[str, Any]:
    return {
        "id": str(memory.id), "cluster": cluster, "topic": plain(topic or ""),
        "prompt": _cut(memory.prompt or "", _PROMPT), "answer": _cut(memory.answer, _ANSWER),
        "score": memory.score, "credibility": colours.credibility.get(memory.id),
        "remembered": colours.remembered.get(memory.id), "x": round(spot.x, 3), "y": round(spot.y, 3),
    }  # fmt: skip


def _place(spot: Spot) -> dict[str, float]:
    return {"x": round(spot.x, 3), "y": round(spot.y, 3), "r": round(spot.radius, 3)}


def _cut(text: str, most: int) -> str:
    text = plain(text[: most + 1])
    return text if len(text) <= most else text[: most - 1] + "…"


def _line(value: object) -> str:
    """A value as JSON on one line that ends no script, whatever stands in it."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")
