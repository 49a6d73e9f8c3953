"""Which new memories become lessons for the retriever, and what the trainer is told of them."""

from __future__ import annotations

import numpy as np
import redis
from numpy.typing import NDArray

from memshare.broker.app import TRAINER_QUEUE
from memshare.broker.delivery.stage import NextMessage
from memshare.broker.wire.grades import VerdictTask
from memshare.broker.wire.lessons import Candidate, LessonTask
from memshare.broker.wire.messages import AnsweredTask, Embedding, derived_id
from memshare.memory_service.memory import Memory
from memshare.memory_service.recall.bandit_arms import Waiting
from memshare.memory_service.recall.recall import Recall
from memshare.memory_service.recall.retriever import retriever_key

ALL_UNTIL = 200  # lessons of a pool, in which most is learnt
LEAST_SHARE = 1 / 16  # of new memories of a pool that has learnt much, so that a drift is seen
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

    def following(
        self, journey: str, recall: Recall, memory: Memory, vector: NDArray[np.float32]
    ) -> NextMessage | None:
        """The message for a memory that a journey is about to store, or None where it is no lesson."""
        if not self.learn or memory.prompt is None:
            return None
        if not is_chosen(memory, worth_learning(self._had(memory.pool, recall.encoder_name), self._share)):
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
        return _message(task)

    def _had(self, pool: str, encoder: str) -> int:
        """How many lessons the pool's retriever has had."""
        return int(self._client.hget(retriever_key(pool, encoder, "state"), "counted") or 0)


def for_evidence(task: AnsweredTask | VerdictTask, recall: Recall, evidence: Waiting) -> NextMessage | None:
    """The message for evidence alone, or None where it is no time yet: it comes with each ten words more that wait.

    It has a journey of its own: in that of the task its pair may become a lesson.
    """
    if evidence.words // EVIDENCE_AT_ONCE == (evidence.words - evidence.new) // EVIDENCE_AT_ONCE:
        return None
    given = task.embedding if isinstance(task, AnsweredTask) else None
    journey = str(derived_id(task.journey, "evidence"))
    message = _message(
        LessonTask(
            journey=journey,
            submitter=task.submitter,
            pool=task.pool,
            embedding=Embedding.pack(recall.encoder_name, recall.vector(given, task.prompt)),
        )
    )
    return message._replace(journey=journey)


def worth_learning(lessons: int, share: float) -> float:
    """The share of new memories that become lessons of a retriever that has had so many, 0 to 1.

    It falls as they grow in number, as one more then changes less.
    """
    return 1.0 if lessons < ALL_UNTIL else min(share, max(LEAST_SHARE, share * ALL_UNTIL / lessons))


def is_chosen(memory: Memory, share: float) -> bool:
    """Whether a memory is among the share that is learnt from; the same at every call."""
    return memory.id.int % 10_000 < share * 10_000


def _message(task: LessonTask) -> NextMessage:
    return NextMessage("retriever_trainer.learn", TRAINER_QUEUE, "learn", task)
