"""The map of a pool as one HTML page that needs nothing beside itself.

The data stands in the page as JSON lines, one for each memory, so that a purged memory can be taken out of the file.
The page shows every text as text: nothing of it is read as markup or script.
"""

from __future__ import annotations

import json
import random
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from html import escape
from math import cos, pi, sin, sqrt
from pathlib import Path
from typing import Any
from uuid import UUID

import networkx
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import KDTree

from memshare_broker.observe.safe_text import plain
from memshare_concepts.cluster_cache import clusters_by_size
from memshare_concepts.clusters import CONCEPTS, Cluster, Clusters
from memshare_concepts.map import FOLDER, SCRIPTS, SERVED_AT
from memshare_concepts.pool_graph import PoolConcepts

GOLDEN_ANGLE = pi * (3 - sqrt(5))
LINKS = 4  # to so many others a cluster is drawn near
GAP = 0.12  # least distance between two discs, as a share of their radii
ROUNDS = 200  # at most so often discs are moved apart
INSIDE = 0.9  # of a disc's radius, how far its memories lie from its centre at most


@dataclass(frozen=True)
class Spot:
    """A place on the plane. On average a memory has an area of pi to itself."""

    x: float
    y: float


def lay_out(by_size: Mapping[int, Clusters], size: int) -> dict[UUID, Spot]:
    """The place of each memory, the same for clusters of every size, so that a map can show one size after another.

    The clusters of `size` are discs. Within a disc, memories of one cluster of another size lie side by side, and discs
    whose memories are in the same larger cluster lie near. The same clusters give the same map.
    """
    levels = by_size[size].levels()
    if not levels:
        return {}
    discs = levels[-1]
    radii = np.array([sqrt(len(disc.memories)) for disc in discs])
    places = _apart(_drawn(discs, _alike(discs, [by_size[larger] for larger in by_size if larger > size])), radii)
    falling = [by_size[size] for size in sorted(by_size, reverse=True)]
    spots: dict[UUID, Spot] = {}
    for disc, centre, radius in zip(discs, places.tolist(), radii.tolist(), strict=True):
        order = sorted(disc.memories, key=lambda memory: [clusters.of(memory).number for clusters in falling])
        spots |= zip(order, _within(centre, radius, len(order)), strict=True)
    return spots


def _drawn(discs: Sequence[Cluster], alike: NDArray[np.float64]) -> NDArray[np.float64]:
    """Places of shape (discs, 2) where what is alike is near."""
    drawn: networkx.Graph[int] = networkx.Graph()
    drawn.add_nodes_from(range(len(discs)))
    for first in range(len(discs)):
        nearest = np.argsort(-alike[first], kind="stable")[:LINKS]
        drawn.add_weighted_edges_from(
            (first, int(second), float(alike[first, second])) for second in nearest if alike[first, second] > 0
        )
    spread = sqrt(sum(len(disc.memories) for disc in discs)) * 2
    found = networkx.spring_layout(drawn, seed=0, scale=spread)
    return np.array([found[number] for number in range(len(discs))], np.float64)


def _alike(discs: Sequence[Cluster], larger: Sequence[Clusters]) -> NDArray[np.float64]:
    """How alike the topics of each two discs are, 1 more for one parent, and the share of a larger cluster of both."""
    alike = _products([[(topic.name, sqrt(topic.share)) for topic in disc.topics] for disc in discs])
    for clusters in larger:
        part = [[(clusters.of(memory).number, 1 / len(disc.memories)) for memory in disc.memories] for disc in discs]
        alike += _products(part)
    parents = np.array([-1 - row if disc.parent is None else disc.parent for row, disc in enumerate(discs)])
    alike += parents[:, None] == parents[None, :]
    np.fill_diagonal(alike, 0.0)
    return alike


def _products(rows: Sequence[Sequence[tuple[str | int, float]]]) -> NDArray[np.float64]:
    """The products of each two rows of named values; values of one name in one row are summed."""
    columns: dict[str | int, int] = {}
    numbers = [columns.setdefault(name, len(columns)) for row in rows for name, _ in row]
    where = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    values = np.array([value for row in rows for _, value in row])
    matrix = sparse.coo_array((values, (where, numbers)), shape=(len(rows), max(1, len(columns)))).tocsr()
    found: NDArray[np.float64] = (matrix @ matrix.T).toarray()
    return found


def _apart(places: NDArray[np.float64], radii: NDArray[np.float64]) -> NDArray[np.float64]:
    """The places moved until no two discs lie on each other, or almost."""
    if len(places) < 2:
        return places
    reach = 2 * radii.max() * (1 + GAP)
    for _ in range(ROUNDS):
        first, second = KDTree(places).query_pairs(reach, output_type="ndarray").T
        between = places[first] - places[second]
        far = np.sqrt((between**2).sum(axis=1))
        missing = (radii[first] + radii[second]) * (1 + GAP) - far
        close = missing > 0
        if not close.any():
            break
        # Each of two discs makes half of the way.
        step = between[close] * (missing[close] / np.maximum(far[close], 1e-9) / 2)[:, None]
        places = places.copy()
        np.add.at(places, first[close], step)
        np.subtract.at(places, second[close], step)
    return places


def _within(centre: Sequence[float], radius: float, count: int) -> list[Spot]:
    """The places in a disc, as the seeds of a sunflower lie, in the order of a hand that goes round."""
    seeds = [(place * GOLDEN_ANGLE % (2 * pi), INSIDE * radius * sqrt((place + 0.5) / count)) for place in range(count)]
    return [Spot(centre[0] + away * cos(angle), centre[1] + away * sin(angle)) for angle, away in sorted(seeds)]


FACTORS = (0.5, 1, 2, 4, 8)  # sizes of the map, as multiples of the one that was asked for


def clusters_around(concepts: PoolConcepts, data: Path, asked: int) -> dict[int, Clusters]:
    """The clusters of a pool by their size, the smallest first: `asked`, and the sizes around it.

    They are kept in the data folder until the pool changes (`memshare_concepts.cluster_cache`).
    Left out are sizes below two memories or above half of the pool, and those that give the same clusters as another.
    """
    around = [round(asked * factor) for factor in FACTORS]
    wanted = [size for size in around if size == asked or 2 <= size <= len(concepts.memories) / 2]
    found = clusters_by_size(concepts, data, wanted)
    taken = {_groups(found[asked])}
    for size in wanted:
        if size != asked and _groups(found[size]) in taken:
            del found[size]
        else:
            taken.add(_groups(found[size]))
    return found


def _groups(clusters: Clusters) -> frozenset[tuple[object, ...]]:
    return frozenset(cluster.memories for level in clusters.levels()[-1:] for cluster in level)


MOST = 2000  # memories that a page compares; of a larger pool so many are chosen by chance, always the same ones

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
    """Values by which memories are coloured, beside their cluster and their score."""

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
            {"size": size, "clusters": [_cluster(each) for level in clusters.levels() for each in level]}
            for size, clusters in by_size.items()
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


def _cluster(cluster: Cluster) -> dict[str, Any]:
    return {
        "number": cluster.number, "name": plain(cluster.name),
        "topics": [plain(topic.name) for topic in cluster.topics[:_TOPICS]],
        "count": len(cluster.memories), "level": cluster.level, "parent": cluster.parent, "children": cluster.children,
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
