"""Feedback: what the best hits of a first search have in common is looked for, too, in the second.

It is off until a pool's held-out lessons rank better with it (`memshare.retriever_trainer.feedback_gate`). What it
feeds back are the words of the hits (pseudo-relevance feedback, Rocchio 1971) or their concepts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from pydantic import ValidationError

from memshare.broker.wire.messages import Message
from memshare.memory_service.memory import Memory
from memshare.memory_service.stores import concept_vectors
from memshare.memory_service.stores.store import Sparse

log = logging.getLogger(__name__)

HITS = concept_vectors.HITS

Way = Literal["off", "words", "concepts"]


class FeedbackInUse(Message):
    """Which feedback a pool's recalls use, and on what it was decided.

    `before` and `after` are pairwise accuracies without and with it, on `lessons` held-out lessons, at a version of the
    retriever; `decided` is a Unix time in seconds.
    """

    way: Way
    before: float
    after: float
    lessons: int
    version: int
    decided: float


def read(text: str | bytes | None, pool: str) -> FeedbackInUse | None:
    """The feedback that a pool's record names; None without one, and for one that cannot be read."""
    if not text:
        return None
    try:
        return FeedbackInUse.model_validate_json(text)
    except ValidationError as error:
        log.error("Pool %s feeds nothing back: its record has %d fields that are wrong.", pool, error.error_count())
        return None


class Besides(NamedTuple):
    """What a search looks for beside the meaning of a task."""

    words: Sparse | None = None
    concepts: Sparse | None = None


def fed_back(way: Way, hits: Sequence[Memory], words_of: Callable[[Memory], Sparse]) -> Besides:
    """What the hits of the first search, best first, add to the second."""
    if way == "concepts":
        named = concept_vectors.query([one.concepts for one in hits])
        return Besides(concepts=named if named.indices else None)
    said = summed([words_of(one) for one in hits]) if way == "words" else None
    return Besides(words=said if said and said.indices else None)


def summed(documents: Sequence[Sparse]) -> Sparse:
    """One vector of several, best first: each counts 1 / its rank."""
    weights: dict[int, float] = {}
    for rank, document in enumerate(documents[:HITS], start=1):
        for index, value in zip(*document, strict=True):
            weights[index] = weights.get(index, 0.0) + value / rank
    return Sparse(sorted(weights), [weights[index] for index in sorted(weights)])
