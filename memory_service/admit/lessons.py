"""Which new memories become lessons for the retriever, and what the trainer is told of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from memshare.broker.app import TRAINER_QUEUE
from memshare.broker.delivery.stage import Following
from memshare.broker.wire.lessons import Candidate, LessonTask
from memshare.broker.wire.messages import Embedding
from memshare.memory_service.memory import Memory
from memshare.memory_service.recall.recall import Recall
from memshare.memory_service.stores.store import Where

ALL_UNTIL = 200  # memories of a pool; nothing is to be seen of what was learnt before about 100
FEWEST_CANDIDATES = 2  # a lesson says that one is better than another
LONGEST_TEXT = 4_000  # characters of a prompt or an answer; enough to see what it is like


class Lessons:
    """Makes the message to the trainer: for every memory of a small pool, and for a share of those of a grown one.

    `pace` says of a pool and an encoder which share of new memories lessons are worth (0 to 1): of it and of the share
    for grown pools the smaller one counts.
    """

    def __init__(self, share: float, pace: Callable[[str, str], float] = lambda *_: 1.0) -> None:
        self._share = share
        self._pace = pace
        self._grown: set[str] = set()

    def following(self, journey: str, recall: Recall, memory: Memory, vector: NDArray[np.float32]) -> Following | None:
        """The message for a memory that a journey is about to store, or None where it is no lesson."""
        if memory.prompt is None:
            return None
        most = self._share if self._has_grown(recall, memory.pool) else 1.0
        if not is_chosen(memory, min(most, self._pace(memory.pool, recall.encoder_name))):
            return None
        candidates = tuple(
            Candidate(
                id=hit.memory.id,
                prompt=hit.memory.prompt and hit.memory.prompt[:LONGEST_TEXT],
                answer=hit.memory.answer[:LONGEST_TEXT],
                embedding=Embedding.pack(recall.encoder_name, hit.vector),
                on_probation=hit.memory.status == "probation",
            )
            for hit in recall.candidates(memory, vector)
            if hit.vector is not None
        )
        if len(candidates) < FEWEST_CANDIDATES:
            return None
        task = LessonTask(
            journey=journey,
            agent=memory.agent or "",
            submitter=memory.submitter,
            pool=memory.pool,
            memory_id=memory.id,
            prompt=memory.prompt[:LONGEST_TEXT],
            answer=memory.answer[:LONGEST_TEXT],
            embedding=Embedding.pack(recall.encoder_name, vector),
            candidates=candidates,
        )
        return Following("retriever_trainer.learn", TRAINER_QUEUE, "learn", task)

    def _has_grown(self, recall: Recall, pool: str) -> bool:
        if pool not in self._grown and recall.store.count(Where(pool=pool)).get(pool, 0) >= ALL_UNTIL:
            self._grown.add(pool)  # counting takes longer the larger the pool, so it ends here
        return pool in self._grown


def is_chosen(memory: Memory, share: float) -> bool:
    """Whether a memory is among the share that is learnt from; the same at every call."""
    return memory.id.int % 10_000 < share * 10_000
