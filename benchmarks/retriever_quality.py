"""How well retrieval gets as memories stream in, by our way and by the literal one; `benchmarks.retriever` reports it.

Ours is what the workers do with a memory, one after another: `Lessons` makes the message with its candidates, `Learn`
labels, learns and publishes, and `Retriever` takes up what was published.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import redis
import torch
from numpy.typing import NDArray

from benchmarks.literal import CANDIDATES, Literal, pair_text
from benchmarks.recall import FixedAdapter
from benchmarks.report import progress
from benchmarks.retriever_budget import Bill
from benchmarks.retriever_data import LEARNING, SHOWN, Exam, Oracle
from memshare.broker.wire.lessons import LessonTask
from memshare.memory_service.admit.lesson_share import lesson_share
from memshare.memory_service.admit.lessons import Lessons
from memshare.memory_service.encoders.encoder import Encoder
from memshare.memory_service.memory import Memory
from memshare.memory_service.recall.recall import Recall, sparse_of, vectors_of
from memshare.memory_service.recall.retriever import Adapter, Retriever
from memshare.memory_service.stores.bm25 import query
from memshare.memory_service.stores.edge_store import EdgeStore
from memshare.memory_service.stores.store import Layout, Vectors, Where
from memshare.retriever_trainer.labels import Labeller
from memshare.retriever_trainer.learn import Learn

MARKED_AT = (50, 100, 150, 200, 320, 450, 600)  # memories in the pool


class Marks(NamedTuple):
    """P@3 of a retriever at each of `MARKED_AT`, and on the untouched pool when all is learnt."""

    curve: list[float]
    untouched: float


def stream_ours(
    folder: Path,
    client: redis.Redis,
    encoder: Encoder,
    exams: tuple[Exam, Exam],
    labeller: Labeller,
    share: float,
    billed: tuple[Bill, Sequence[Memory]] | None = None,
) -> dict[str, Marks]:
    """`untrained` and learning `online`, on the same store; the share is of a grown pool's memories that are lessons.

    With `billed` what each memory takes is counted, of those and of more that come once all is marked.
    """
    torch.set_num_threads(1)  # as the trainer's worker does
    learning, other = exams
    asked = {exam: encoder.encode(exam.prompts) for exam in exams}
    store = EdgeStore.open(folder, Layout(encoder.name, encoder.dimension), "benchmark")
    recalls = {
        "untrained": Recall(store, encoder, FixedAdapter(Adapter())),
        "online": Recall(store, encoder, Retriever(client, encoder)),
    }
    lessons = Lessons(share, partial(lesson_share, client))
    learn = Learn(client, labeller, kept=2_000, keep_days=1)
    curves: dict[str, list[float]] = {name: [] for name in recalls}
    try:
        store.put(list(zip(other.memories, vectors_of(encoder, other.memories), strict=True)))
        vectors = vectors_of(encoder, learning.memories)
        pairs = list(zip(learning.memories, vectors, strict=True))
        for number, (memory, given) in enumerate(progress(pairs, "Learning online"), start=1):
            _settle(memory, given, recalls["online"], lessons, learn, billed and billed[0])
            if number in MARKED_AT:
                for name, recall in recalls.items():
                    curves[name].append(p_at_3(recall, learning, asked[learning]))
        marks = {name: Marks(curves[name], p_at_3(recall, other, asked[other])) for name, recall in recalls.items()}
        if billed:
            bill, more = billed
            later = list(zip(more, vectors_of(encoder, more), strict=True))
            for memory, given in progress(later, "Learning on, for the bill"):
                _settle(memory, given, recalls["online"], lessons, learn, bill)
        return marks
    finally:
        store.close()


def _settle(
    memory: Memory, given: Vectors, recall: Recall, lessons: Lessons, learn: Learn, bill: Bill | None = None
) -> None:
    if bill:
        hits = recall.nearest(memory.pool, memory.key, given.dense, SHOWN).hits
        bill.stored(memory, [hit.memory for hit in hits])
    following = lessons.following(str(memory.id), recall, memory, given.dense)
    recall.store.put([(memory, given)])
    if following and isinstance(following.body, LessonTask):
        learn.run(following.body.journey, following.body)


def p_at_3(recall: Recall, exam: Exam, vectors: NDArray[np.float32]) -> float:
    """P@3 of what agents would be shown; the vectors are those of the exam's prompts."""
    shown = [
        [hit.memory for hit in recall.nearest(exam.pool, text, vector, SHOWN, "dense").hits]
        for text, vector in zip(exam.prompts, vectors, strict=True)
    ]
    return exam.p_at_3(shown)


def stream_literal(folder: Path, exams: tuple[Exam, Exam], oracle: Oracle, seed: int) -> dict[str, Marks]:
    """`literal` on the same memories, and `literal_before` any training with all of them.

    The pool is encoded again only where P@3 is measured.
    """
    learning, other = exams
    literal = Literal(seed)
    before = [literal_p_at_3(literal, exam, exam.memories) for exam in exams]
    curve: list[float] = []
    store = EdgeStore.open(folder, Layout("bm25 alone", 2), "benchmark")
    where, unused = Where(pool=LEARNING), np.array([1, 0], dtype=np.float32)
    try:
        for number, memory in enumerate(progress(learning.memories, "Learning the literal way"), start=1):
            hits = store.search(where, CANDIDATES, sparse=query(f"{memory.prompt}\n{memory.answer}"))
            found = [hit.memory for hit in hits]
            literal.learn(memory, found, [oracle.contradiction(memory.key, one.key) for one in found])
            store.put([(memory, Vectors(unused, sparse_of(memory)))])
            if number in MARKED_AT:
                curve.append(literal_p_at_3(literal, learning, learning.memories[:number]))
    finally:
        store.close()
    return {
        "literal": Marks(curve, literal_p_at_3(literal, other, other.memories)),
        "literal_before": Marks([before[0]], before[1]),
    }


def literal_p_at_3(literal: Literal, exam: Exam, memories: Sequence[Memory]) -> float:
    """P@3 of what the literal way would show of these memories, which are all encoded for it."""
    cosines = literal.encode(exam.prompts) @ literal.encode([pair_text(memory) for memory in memories]).T
    best = np.argsort(-cosines, axis=1, kind="stable")[:, :SHOWN]
    return exam.p_at_3([[memories[row] for row in rows] for rows in best])
