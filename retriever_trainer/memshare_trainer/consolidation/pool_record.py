"""Data of a consolidation: the pool page by page, whoever has it open, and the training record of its retriever.

A record has lessons and evidence, also as texts to train on, or with the vectors of another encoder.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import NamedTuple
from uuid import UUID

import redis

from memshare_broker.app import MEMORY_QUEUE
from memshare_broker.errors import BadInput, MemshareError
from memshare_broker.presence import present
from memshare_broker.settings import Settings
from memshare_broker.wire.lessons import Evidence
from memshare_memory.door.client import MemoryClient
from memshare_memory.encoders.encoder import Encoder
from memshare_memory.pool.pool import Pages, name_in_use
from memshare_memory.stores.open_store import layout_in_use, open_store
from memshare_memory.stores.store import Page, Store, Where, pages
from memshare_trainer.lesson import Array, StoredLesson, evidence_with
from memshare_trainer.lesson_log import LessonLog
from memshare_trainer.proof import LearntRetriever
from memshare_trainer.replay_buffer import is_held_out_evidence
from memshare_trainer.rewriting import begin_with

PAGE = 200
OWNER = "memshare retriever"


@contextmanager
def pool_pages(settings: Settings, client: redis.Redis) -> Iterator[tuple[Pages, str]]:
    """The pool's pages and the name of its encoder, for as long as the block runs.

    A folder is read through the worker that has it open, where there is one. Raises `BadInput` where there is no
    pool, and `MemshareError` where it is not clear which one is in use.
    """
    layout = layout_in_use(settings)
    if layout is None:
        place = settings.qdrant_url or settings.data
        raise BadInput(f"There is no pool at {str(place)!r} yet. Start `memshare up`, and submit tasks or import some.")
    name = name_in_use(settings, client) or layout.encoder
    if name != layout.encoder:
        raise MemshareError(
            f"The pool was being moved to the encoder {name!r} when that was broken off, right at its end. Start"
            " `memshare up`, or a worker of the queue 'memory': it completes the move. Then try again."
        )
    if settings.pool_is_embedded and any(MEMORY_QUEUE in worker.queues for worker in present(client)):
        with closing(MemoryClient(settings)) as memory:
            yield _asked(memory), name
        return
    with closing(open_store(settings, layout, OWNER)) as store:
        yield (lambda after: store.page(Where(), PAGE, after)), name


def _asked(memory: MemoryClient) -> Pages:
    def page(after: UUID | None) -> Page:
        found = memory.page(Where(), PAGE, after)
        return Page(list(found.memories), found.after)

    return page


class Texts(NamedTuple):
    """The encoded text of each memory that a lesson names, and how many memories there are."""

    keys: dict[UUID, str]
    memories: int


def read_texts(fetch: Pages, wanted: Collection[UUID], progress: Callable[[int], None]) -> Texts:
    """Go through the pool once, for the texts of the memories that are wanted; those that were forgotten have none."""
    keys: dict[UUID, str] = {}
    count = 0
    for page in pages(fetch):
        keys |= {memory.id: memory.asked for memory in page.memories if memory.id in wanted}
        count += len(page.memories)
        progress(count)
    return Texts(keys, count)


def general_texts() -> list[str]:
    """Texts of all sorts, which no agent is likely to be for."""
    return files("memshare_trainer.consolidation").joinpath("general.txt").read_text(encoding="utf-8").splitlines()


BATCH = 200  # vectors that are read at a time
SURE = 0.5  # weight of evidence from which on it is a pair to train on


@dataclass(frozen=True)
class TextLesson:
    """A lesson as texts: the candidates for a prompt, and which of them should have been found."""

    query: str
    documents: tuple[str, ...]
    positive: tuple[bool, ...]


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
