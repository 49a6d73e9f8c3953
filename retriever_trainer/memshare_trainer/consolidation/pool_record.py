"""Training record of a pool's retriever: its lessons and evidence, also with the vectors of another encoder."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple
from uuid import UUID

from memshare_broker.wire.lessons import Evidence
from memshare_memory.encoders.encoder import Encoder
from memshare_memory.stores.store import Store
from memshare_trainer.consolidation.finetune import TextLesson
from memshare_trainer.learning.proof import LearntRetriever
from memshare_trainer.learning.replay_buffer import is_held_out_evidence
from memshare_trainer.learning.rewriting import begin_with
from memshare_trainer.lessons.lesson import Array, StoredLesson, evidence_with
from memshare_trainer.lessons.lesson_log import LessonLog

BATCH = 200  # vectors that are read at a time
SURE = 0.5  # weight of evidence from which on it is a pair to train on


class PoolRecord(NamedTuple):
    """The lessons that may be trained on, those that never are, and the words of people about memories."""

    learnt: list[StoredLesson]
    held_out: list[StoredLesson]
    evidence: list[Evidence]

    @classmethod
    def of(cls, log: LessonLog) -> PoolRecord:
        return cls(log.lessons(), log.held_out(), log.said())

    @property
    def memories(self) -> set[UUID]:
        """All memories that have a part in it."""
        shown = (memory.id for said in self.evidence for memory in (said.memory, *said.beside))
        return {memory for lesson in (*self.learnt, *self.held_out) for memory in lesson.memories} | set(shown)

    def with_vectors(self, encoder: Encoder, vectors: Mapping[UUID, Array]) -> PoolRecord:
        """The same with another encoder's vectors, without what is about memories that have none."""
        prompts = list(encoder.encode([evidence.text for evidence in self.evidence])) if self.evidence else []
        said = [
            evidence_with(evidence, encoder.name, prompt, vectors)
            for evidence, prompt in zip(self.evidence, prompts, strict=True)
        ]
        learnt, held_out = (
            [carried for lesson in lessons if (carried := lesson.with_vectors(vectors))]
            for lessons in (self.learnt, self.held_out)
        )
        return PoolRecord(learnt, held_out, [evidence for evidence in said if evidence])

    def as_texts(self, texts: Mapping[UUID, str]) -> Iterator[TextLesson]:
        """Texts to train the encoder on: the lessons of memories that there are still, and answers that were right."""
        for lesson in self.learnt:
            if lesson.memory_id in texts:
                documents = [memory for memory in (*lesson.positives, *lesson.negatives) if memory in texts]
                helps = set(lesson.positives)
                yield TextLesson(
                    query=texts[lesson.memory_id],
                    documents=tuple(texts[memory] for memory in documents),
                    positive=tuple(memory in helps for memory in documents),
                )
        for said in self.evidence:
            is_own = said.by == said.memory.submitter and len({evidence.by for evidence in self.evidence}) > 1
            is_sure = said.helped > SURE and said.weight >= SURE
            if is_sure and not is_own and not is_held_out_evidence(said) and said.memory.id in texts:
                yield TextLesson(query=said.text, documents=(texts[said.memory.id],), positive=(True,))


def carry_over(old: LessonLog, new: LessonLog, store: Store, encoder: Encoder, learnt: LearntRetriever | None) -> None:
    """Write lessons and evidence into the log of the new encoder, whose store has all memories.

    `learnt` is what was learnt from them anew, and is published with them; without it the pool begins untrained, and a
    trainer makes all steps again before its next one.
    """
    record = PoolRecord.of(old)
    carried = record.with_vectors(encoder, _vectors(store, record.memories))
    begin_with(new, [*carried.learnt, *carried.held_out], carried.evidence, old.head().counted, learnt)


def _vectors(store: Store, ids: Collection[UUID]) -> dict[UUID, Array]:
    wanted = list(ids)
    batches = (wanted[start : start + BATCH] for start in range(0, len(wanted), BATCH))
    return {memory: vector for batch in batches for memory, vector in store.dense_of(batch).items()}
