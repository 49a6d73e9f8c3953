"""Vectors whose dimensions are concepts: similarity, average, intersection, and what is left without small entries.

A vector is a mapping from names to weights above 0 that sum to 1. Sums are exact (`math.fsum`), so that none depends
on the order of the names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import exp, fsum, log, sqrt

Vector = Mapping[str, float]


def similarity(first: Vector, second: Vector) -> float:
    """How alike two vectors are, from 0 to 1: the sum of the square roots of their products."""
    return fsum(contributions(first, second).values())


def contributions(first: Vector, second: Vector) -> dict[str, float]:
    """The part that each shared name adds to the similarity, the largest part first."""
    shared = {name: sqrt(weight * second[name]) for name, weight in first.items() if name in second}
    return dict(sorted(shared.items(), key=lambda pair: (-pair[1], pair[0])))


def normalised(weights: Mapping[str, float]) -> dict[str, float]:
    """Weights that sum to 1, the largest first. Those of 0 are left out."""
    total = fsum(weights.values())
    found = {name: weight / total for name, weight in weights.items() if weight > 0}
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def mean(vectors: Iterable[tuple[float, Vector]]) -> dict[str, float]:
    """The weighted mean of vectors, each with its weight."""
    parts: dict[str, list[float]] = {}
    for share, vector in vectors:
        for name, weight in vector.items():
            parts.setdefault(name, []).append(share * weight)
    return normalised({name: fsum(of) for name, of in parts.items()})


def intersection(vectors: Sequence[Vector]) -> dict[str, float]:
    """Intersection of vectors: the geometric mean of each weight. Equal vectors give themselves.

    Vectors without a name that all have give their mean, as nothing says more about them.
    """
    shared = set(vectors[0]).intersection(*vectors[1:]) if vectors else set()
    if not shared:
        return mean((1.0, vector) for vector in vectors)
    return normalised(
        {name: exp(fsum(log(vector[name]) for vector in vectors) / len(vectors)) for name in sorted(shared)}
    )


def trimmed(vector: Vector, share: float) -> dict[str, float]:
    """A vector without its smallest entries, as long as these make up less than `share` of its sum."""
    left = share * fsum(vector.values())
    found = dict(sorted(vector.items(), key=lambda pair: (-pair[1], pair[0])))
    for name, weight in reversed(list(found.items())):
        left -= weight
        if left <= 0:
            break
        del found[name]
    return found
