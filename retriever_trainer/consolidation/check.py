"""The check that an encoder has to pass before it takes the place of another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memshare.memory_service.encoders.encoder import Encoder
from memshare.retriever_trainer.accuracy import Example, pairwise_accuracy
from memshare.retriever_trainer.consolidation import probe
from memshare.retriever_trainer.consolidation.finetune import TextLesson
from memshare.retriever_trainer.consolidation.outcome import Figure
from memshare.retriever_trainer.consolidation.relearn import relearn

MOST_LOST = 0.02  # nDCG on the probe

Adapters = Mapping[str, NDArray[np.float32]]
"""The weights in use of each pool that has learnt something."""


class PoolLessons(NamedTuple):
    """The lessons of one pool in their order: those that may be trained on, and those that never are."""

    learnt: list[TextLesson]
    held_out: list[TextLesson]


class Check(NamedTuple):
    """Pairwise accuracy on the held-out lessons, nDCG on the untouched probe, and the new encoder's adapters."""

    held_out: Figure
    probe: Figure
    adapters: Adapters

    @property
    def passed(self) -> bool:
        return self.held_out.after >= self.held_out.before and self.probe.after >= self.probe.before - MOST_LOST


def check(before: Encoder, after: Encoder, lessons: Mapping[str, PoolLessons], adapters: Adapters) -> Check:
    """Compare two encoders with their adapters: of the one in use as they are, of the other learnt from zero."""
    relearnt = {
        pool: relearn(encoded(after, of_pool.learnt), after.dimension)
        for pool, of_pool in lessons.items()
        if of_pool.learnt
    }
    held_out = {pool: of_pool.held_out for pool, of_pool in lessons.items()}
    return Check(
        Figure(before=_accuracy(before, held_out, adapters), after=_accuracy(after, held_out, relearnt)),
        Figure(before=probe.ndcg(before), after=probe.ndcg(after)),
        relearnt,
    )


def _accuracy(encoder: Encoder, held_out: Mapping[str, Sequence[TextLesson]], adapters: Adapters) -> float:
    """The mean over the lessons of all pools, so that a pool with more of them weighs more."""
    untrained = np.zeros((encoder.dimension, encoder.dimension), dtype=np.float32)
    counts = {pool: len(lessons) for pool, lessons in held_out.items() if lessons}
    shares = [
        pairwise_accuracy(adapters.get(pool, untrained), encoded(encoder, held_out[pool])) or 0.0 for pool in counts
    ]
    return float(np.average(shares, weights=list(counts.values())))


def encoded(encoder: Encoder, lessons: Sequence[TextLesson]) -> list[Example]:
    """Lessons as the learner sees them, with this encoder's vectors."""
    texts = list(dict.fromkeys(text for lesson in lessons for text in (lesson.query, *lesson.documents)))
    vector = dict(zip(texts, encoder.encode(texts), strict=True))
    return [
        Example(
            query=vector[lesson.query],
            documents=np.stack([vector[text] for text in lesson.documents]),
            positive=np.array(lesson.positive),
        )
        for lesson in lessons
    ]
