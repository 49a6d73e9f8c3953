"""How much a pool needs what it lacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memshare_concepts.gap import Gap

Encode = Callable[[Sequence[str]], NDArray[np.float32]]
"""From texts to their vectors, of shape (texts, dimensions) and length 1."""

NEAR = 0.5
"""Cosine from which a question is about a gap."""


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
    return float(np.mean([1 / (1 + credited.get(one, 0)) for one in gap.memories])) if gap.memories else 0.0
