"""Splits a graph into about as many communities as are wanted, with the Leiden algorithm."""

from __future__ import annotations

from collections.abc import Sequence

import graspologic_native
import numpy as np
from numpy.typing import NDArray

Edges = Sequence[tuple[int, int, float]]
"""Two nodes and the weight of what connects them, above 0; each pair once."""

TRIALS = 12
"""How many resolutions are tried to come near the number of communities that is wanted."""

LOW, HIGH = 0.01, 1000.0


def partition(edges: Edges, nodes: int, wanted: int) -> NDArray[np.int64]:
    """The community of each node, from 0, so that there are about `wanted`. A node without an edge is one of its own.

    The higher the resolution, the more communities: it is found by halving an interval.
    """
    low, high = LOW, HIGH
    best = np.arange(nodes)
    distance = abs(nodes - wanted) if nodes else 0
    named = [(str(first), str(second), weight) for first, second, weight in edges]
    for _ in range(TRIALS if named else 0):
        resolution = (low * high) ** 0.5
        _, communities = graspologic_native.leiden(named, resolution=resolution, iterations=10, seed=0)
        found = _numbered([communities.get(str(node), -1 - node) for node in range(nodes)])
        count = int(found.max()) + 1
        if abs(count - wanted) < distance:
            best, distance = found, abs(count - wanted)
        if count == wanted:
            break
        low, high = (resolution, high) if count < wanted else (low, resolution)
    return best


def _numbered(communities: Sequence[int]) -> NDArray[np.int64]:
    """Communities by the order in which they come first."""
    numbers: dict[int, int] = {}
    return np.array([numbers.setdefault(one, len(numbers)) for one in communities], np.int64)
