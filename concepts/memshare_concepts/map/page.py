"""The map of a pool as one HTML page that needs nothing beside itself.

The data stands in the page as JSON lines, one for each memory, so that a purged memory can be taken out of the file.
The page shows every text as text: nothing of it is read as markup or script.
"""

from __future__ import annotations

import json
import random
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from html import escape
from typing import Any
from uuid import UUID

import numpy as np

from memshare_broker.observe.plain_text import plain
from memshare_concepts.clusters.cluster import Cluster, Clusters
from memshare_concepts.clusters.neighbours import CONCEPTS
from memshare_concepts.map.files import FOLDER, SCRIPTS, SERVED_AT
from memshare_concepts.map.layout import lay_out
from memshare_concepts.pool_graph import PoolConcepts

MOST = 2000
"""Memories that a page compares; of a larger pool so many are chosen by chance, always the same ones."""

_PROMPT, _ANSWER = 300, 600  # characters that are shown
_TOPICS = 5  # of a cluster
_INLINE = """\
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src \
'unsafe-inline'">
<style>
{}
</style>"""


@dataclass(frozen=True)
class Colours:
    """What memories are coloured by, beside their cluster and their score."""

    credibility: Mapping[UUID, float]
    remembered: Mapping[UUID, float] = field(default_factory=dict)
    """The probability that a person remembers a memory that they reviewed."""
    person: str | None = None


def map_page(
    concepts: PoolConcepts,
    by_size: Mapping[int, Clusters],
    size: int,
    colours: Colours,
    made: datetime,
    *,
    back: str | None = None,
) -> Iterator[str]:
    """The page, part by part. It can show the clusters of each size, and begins with those of `size`.

    With `back`, where a link on it leads, it is for a server that has its `FILES`; else it needs nothing beside itself.
    """
    before, after = _read("page.html").split("@DATA@")
    style, scripts, link = (
        (_INLINE.format(_read("page.css")), f"<script>\n{''.join(map(_read, SCRIPTS))}</script>", "")
        if back is None
        else (
            f'<link rel="icon" href="/pages/icon.png">\n<link rel="stylesheet" href="{SERVED_AT}page.css">',
            "\n".join(f'<script src="{SERVED_AT}{name}"></script>' for name in SCRIPTS),
            f'<p><a href="{escape(back)}">Back to memshare</a></p>',
        )
    )
    spots, alike = lay_out(by_size, size), similarities(concepts)
    head = {
        "pool": plain(concepts.pool),
        "person": plain(colours.person or ""),
        "made": f"{made:%Y-%m-%d %H:%M} UTC",
        "size": size,
        "sizes": [
            {"size": one, "clusters": [_cluster(each) for level in clusters.levels() for each in level]}
            for one, clusters in by_size.items()
        ],
        "low": alike.low,
    }
    yield before.replace("@STYLE@", style).replace("@BACK@", link)
    yield _line(head)
    for memory in concepts.memories.values():
        spot = spots[memory.id]
        value = {
            "id": str(memory.id), "topic": plain(concepts.graph.topic(memory.id) or ""),
            "prompt": _cut(memory.prompt or "", _PROMPT), "answer": _cut(memory.answer, _ANSWER),
            "score": memory.score, "credibility": colours.credibility.get(memory.id),
            "remembered": colours.remembered.get(memory.id), "x": round(spot.x, 2), "y": round(spot.y, 2),
            "clusters": [clusters.of(memory.id).number for clusters in by_size.values()],
            "similar": alike.rows.get(memory.id),
        }  # fmt: skip
        yield "\n" + _line(value)
    yield after.replace("@SCRIPTS@", scripts)


def _cluster(one: Cluster) -> dict[str, Any]:
    return {
        "number": one.number, "name": plain(one.name), "topics": [plain(topic.name) for topic in one.topics[:_TOPICS]],
        "count": len(one.memories), "level": one.level, "parent": one.parent, "children": one.children,
    }  # fmt: skip


def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _cut(text: str, most: int) -> str:
    text = plain(text[: most + 1])
    return text if len(text) <= most else text[: most - 1] + "…"


def _line(value: object) -> str:
    """A value as JSON on one line that ends no script, whatever stands in it."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")


@dataclass(frozen=True)
class Similarities:
    """Similarities of memories to each other: 1 is the same, and a byte b means low + b / 255 * (1 - low)."""

    low: float
    rows: dict[UUID, str]
    """In base64, the bytes of a memory with those before it: none for the first, one for the second, and so on."""


def similarities(concepts: PoolConcepts) -> Similarities:
    """Compare memories by what clusters go by: cosine plus half the similarity of the concepts, divided by 1.5."""
    places = list(range(len(concepts.memories)))
    if len(places) > MOST:
        places = sorted(random.Random(0).sample(places, MOST))
    ids = concepts.ids
    chosen = [ids[place] for place in places]
    vectors, matrix = concepts.vectors[places], concepts.graph.matrix(chosen)
    alike = ((vectors @ vectors.T) + CONCEPTS * (matrix @ matrix.T).toarray()) / (1 + CONCEPTS)
    low = min(0.0, float(alike.min(initial=0.0)))
    packed = np.rint((np.minimum(alike, 1.0) - low) / (1 - low) * 255).astype(np.uint8)
    rows = {memory: b64encode(packed[place, :place].tobytes()).decode() for place, memory in enumerate(chosen)}
    return Similarities(low, rows)
