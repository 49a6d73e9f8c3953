"""What consolidation makes of the lessons that were learnt online; `benchmarks.retriever` reports it.

The encoder is trained on the lesson log and held in place on the prompts of the other pool and on the general anchors,
as `memshare retriever consolidate` does; both pools are encoded again, and the adapter learns from zero once more.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import redis
import torch
from rich.progress import Progress

from benchmarks.recall import FixedAdapter
from benchmarks.retriever_data import Exam
from benchmarks.retriever_quality import p_at_3
from memshare.console import errors
from memshare.memory_service.encoders.encoder import Encoder
from memshare.memory_service.encoders.sentence_encoder import SentenceTransformerEncoder, bundled_folder, torch_device
from memshare.memory_service.recall.recall import Recall, vectors_of
from memshare.memory_service.recall.retriever import Adapter
from memshare.memory_service.stores.edge_store import EdgeStore
from memshare.memory_service.stores.store import Layout
from memshare.retriever_trainer.consolidation.check import Check, PoolLessons, check
from memshare.retriever_trainer.consolidation.finetune import fine_tune
from memshare.retriever_trainer.consolidation.lesson_texts import as_texts, general_anchors
from memshare.retriever_trainer.lesson_log import LessonLog


class Consolidated(NamedTuple):
    """P@3 on both pools, and the check that the new encoder has to pass before it is put into use."""

    p_at_3: float
    untouched: float
    check: Check


def consolidate(
    folder: Path, client: redis.Redis, encoder: Encoder, exams: tuple[Exam, Exam], *, threads: int, seed: int
) -> Consolidated:
    """Fine-tune, encode both pools anew in this folder, and mark them."""
    torch.set_num_threads(threads)
    learning, other = exams
    log = LessonLog(client, learning.pool, encoder.name, kept=2_000, keep_days=1)
    texts = {memory.id: memory.key for memory in learning.memories}
    anchors = [*(memory.key for memory in other.memories), *general_anchors()]
    with Progress(console=errors, transient=True) as bar:
        task = bar.add_task("Fine-tuning the encoder", total=None)
        fine_tune(
            bundled_folder(),
            list(as_texts(log.lessons(), texts)),
            anchors,
            folder / "encoder",
            device=torch_device(None),
            seed=seed,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    fresh = SentenceTransformerEncoder(str(folder / "encoder"), name="consolidated")

    published = log.published(log.head().version)
    adapters = {learning.pool: published.unpack()} if published else {}
    lessons = PoolLessons(list(as_texts(log.lessons(), texts)), list(as_texts(log.held_out(), texts)))
    checked = check(encoder, fresh, {learning.pool: lessons}, adapters)

    store = EdgeStore.open(folder / "pool", Layout(fresh.name, fresh.dimension), "benchmark")
    adapter_of = {learning.pool: Adapter(1, checked.adapters[learning.pool]), other.pool: Adapter()}
    marks = []
    try:
        for exam in exams:
            store.put(list(zip(exam.memories, vectors_of(fresh, exam.memories), strict=True)))
            recall = Recall(store, fresh, FixedAdapter(adapter_of[exam.pool]))
            marks.append(p_at_3(recall, exam, fresh.encode(exam.prompts)))
    finally:
        store.close()
    return Consolidated(marks[0], marks[1], checked)
