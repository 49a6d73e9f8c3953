"""Which new memories become lessons for the retriever, and what the trainer is told of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from memshare.broker.app import TRAINER_QUEUE
from memshare.broker.delivery.stage import Following
from memshare.broker.wire.lessons import Candidate, LessonTask
from memshare.broker.wire.messages import Embedding
from memshare.memory_service.admit.lesson_share import always
from memshare.memory_service.memory import Memory
from memshare.memory_service.recall.recall import Recall
from memshare.memory_service.stores.store import Where

ALL_UNTIL = 200  # memories of a pool; nothing is to be seen of what was learnt before about 100
LEAST_SHARE = 1 / 16  # of new memories of a grown pool, so that a drift is seen
COUNT_AGAIN = 20  # a pool is counted again when one memory in so many of it is new
FEWEST_CANDIDATES = 2  # a lesson says that one is better than another
LONGEST_TEXT = 4_000  # characters of a prompt or an answer; enough to see what it is like


class Lessons:
    """Makes the message to the trainer: for every memory of a small pool, and for ever fewer of a grown one's.

    `share` is the largest share of a grown pool's new memories that become lessons. `pace` says of a pool and an
    encoder how many times the usual number they are worth.
    """

    def __init__(self, share: float, pace: Callable[[str, str], float] = always) -> None:
        self._share = share
        self._pace = pace
        self._sizes: dict[str, tuple[int, int]] = {}  # memories of a pool, and after how many more they are counted

    def following(self, journey: str, recall: Recall, memory: Memory, vector: NDArray[np.float32]) -> Following | None:
        """The message for a memory that a journey is about to store, or None where it is no lesson."""
        if memory.prompt is None:
            return None
        pace = self._pace(memory.pool, recall.encoder_name)
        if not is_chosen(memory, worth_learning(self._size(recall, memory.pool), self._share, pace)):
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

    def _size(self, recall: Recall, pool: str) -> int:
        """About how many memories a pool has: counting takes a server longer the more there are."""
        size, left = self._sizes.get(pool, (0, 0))
        if left == 0:
            size = recall.store.count(Where(pool=pool)).get(pool, 0)
            left = size // COUNT_AGAIN + 1
        self._sizes[pool] = (size, left - 1)
        return size


def worth_learning(size: int, share: float, pace: float) -> float:
    """The share of the new memories of a pool of this size that become lessons, 0 to 1.

    It falls as a grown pool grows, as one more lesson then changes less, and by the pace of its trainer; where nothing
    is to be learnt the pace is 0.
    """
    if size < ALL_UNTIL or pace == 0:
        return min(1.0, pace)
    usual = max(LEAST_SHARE, share * ALL_UNTIL / size)
    return min(share, max(LEAST_SHARE, usual * pace))


def is_chosen(memory: Memory, share: float) -> bool:
    """Whether a memory is among the share that is learnt from; the same at every call."""
    return memory.id.int % 10_000 < share * 10_000
