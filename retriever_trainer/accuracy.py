"""How well a pool's adapter ranks, by numpy alone: who only looks needs no torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


@dataclass(frozen=True)
class Example:
    """A lesson as the learner sees it: a query, and the documents it is to find and not to find."""

    query: Array  # (dimension,), of length 1
    documents: Array  # (documents, dimension), each of length 1
    positive: NDArray[np.bool_]  # (documents,)


def pairwise_accuracy(weights: Array, examples: Sequence[Example]) -> float | None:
    """How often a document to be found is nearer than one not to be: 0 to 1, or None without examples.

    The mean over the examples of the share of their (positive, negative) pairs, so that each weighs the same.
    """
    if not examples:
        return None
    return float(np.mean([_share_in_order(weights, example) for example in examples]))


def _share_in_order(weights: Array, example: Example) -> float:
    # The length of the turned query divides every cosine of the example, and changes no order.
    cosines = example.documents @ (example.query + weights @ example.query)
    pairs = cosines[example.positive][:, None] > cosines[~example.positive][None, :]
    return float(pairs.mean())
