"""Which new memories become lessons for the retriever, and what the trainer is told of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import redis
from numpy.typing import NDArray

from memshare_broker.delivery.hops import LEARN, NextMessage
from memshare_broker.wire.grades import VerdictTask
from memshare_broker.wire.lessons import Candidate, LessonTask
from memshare_broker.wire.messages import AnsweredTask, Embedding, derived_id
from memshare_memory.belief.bandit import WaitingEvidence
from memshare_memory.belief.trust import retriever_key
from memshare_memory.memory import Memory
from memshare_memory.recall.recall import Recall

ALL_UNTIL = 200  # lessons of a pool, in which most is learnt
LEAST_SHARE = 1 / 16  # of new memories of a pool that has learnt much, so that a drift is seen
IN_VAIN = 5  # calls for labels in a row that taught nothing; after more, ever fewer are made
FEWEST_CANDIDATES = 2  # a lesson says that one is better than another
LONGEST_TEXT = 4_000  # characters of a prompt or an answer; enough to see what it is like
EVIDENCE_AT_ONCE = 10  # words of evidence that are worth a message of their own


class Lessons:
    """Makes the messages to the trainer: for every memory until the pool had many lessons, then for ever fewer.

    `share` is the share of new memories that become lessons once there were `ALL_UNTIL`.
    Without `learn` there are no lessons.
    """

    def __init__(self, client: redis.Redis, share: float, *, learn: bool = True) -> None:
        self._client = client
        self._share = share
        self.learn = learn

    def of(self, journey: str, recall: Recall, memory: Memory, vector: NDArray[np.float32]) -> LessonTask | None:
        """The lesson that a memory is which a journey is about to store, or None where it is none."""
        if not self.learn or memory.prompt is None:
            return None
        had, in_vain = self._had(memory.pool, recall.encoder_name)
        if not is_chosen(memory, worth_learning(had, self._share, in_vain)):
            return None
        candidates = tuple(
            Candidate(
                id=hit.memory.id,
                prompt=hit.memory.prompt and hit.memory.prompt[:LONGEST_TEXT],
                answer=hit.memory.answer[:LONGEST_TEXT],
                embedding=Embedding.pack(recall.encoder_name, hit.vector),
                submitter=hit.memory.submitter,
            )
            for hit in recall.candidates(memory, vector)
            if hit.vector is not None
        )
        if len(candidates) < FEWEST_CANDIDATES:
            return None
        return LessonTask(
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

    def _had(self, pool: str, encoder: str) -> tuple[int, int]:
        """How many lessons the pool's retriever has had, and how many calls for labels in a row taught it nothing."""
        with self._client.pipeline(transaction=False) as asked:
            asked.hget(retriever_key(pool, encoder, "state"), "counted")
            asked.get(retriever_key(pool, encoder, "in_vain"))
            had, in_vain = asked.execute()
        return int(had or 0), int(in_vain or 0)


def for_evidence(
    task: AnsweredTask | VerdictTask, recall: Recall, evidence: Mapping[str, WaitingEvidence], *, own: bool = True
) -> Iterator[NextMessage]:
    """The messages for evidence alone, by pool: one comes with each ten words more that wait there.

    Each has a journey of its own: in that of the task its pair may become a lesson. Without its `own` pool where that
    lesson brings its evidence.
    """
    for pool, waiting in evidence.items():
        is_due = waiting.words // EVIDENCE_AT_ONCE > (waiting.words - waiting.new) // EVIDENCE_AT_ONCE
        if not is_due or (pool == task.pool and not own):
            continue
        given = task.embedding if isinstance(task, AnsweredTask) else None
        journey = str(derived_id(task.journey, "evidence", *([] if pool == task.pool else [pool])))
        message = LEARN.next(
            LessonTask(
                journey=journey,
                submitter=task.submitter,
                pool=pool,
                embedding=Embedding.pack(recall.encoder_name, recall.vector(given, task.prompt)),
            )
        )
        yield message._replace(journey=journey)


def worth_learning(lessons: int, share: float, in_vain: int = 0) -> float:
    """The share of new memories that become lessons of a retriever that has had so many, 0 to 1.

    It falls as they grow in number, as one more then changes less, and as calls for labels are `in_vain`: where all
    candidates help, or all mislead, as in a pool of one kind of tasks, there is nothing to tell apart.
    """
    usual = 1.0 if lessons < ALL_UNTIL else min(share, max(LEAST_SHARE, share * ALL_UNTIL / lessons))
    return min(usual, max(LEAST_SHARE, usual * IN_VAIN / max(in_vain, IN_VAIN)))


def is_chosen(memory: Memory, share: float) -> bool:
    """True if a memory is in the share that is learnt from; the same at every call."""
    return memory.id.int % 10_000 < share * 10_000
