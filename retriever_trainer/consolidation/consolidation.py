"""Consolidation: what the lessons have taught goes into the encoder itself, and the pool is re-encoded by it.

Everything is made beside what is in use, and the swap is one step: killed anywhere before it, nothing has changed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from functools import partial
from pathlib import Path
from typing import Protocol

import redis
import torch

from memshare.broker.errors import BadInput
from memshare.broker.settings import Settings
from memshare.memory_service.encoders.onnx_encoder import processors
from memshare.memory_service.encoders.sentence_encoder import SentenceTransformerEncoder, bundled_folder, torch_device
from memshare.memory_service.pool.encoder_generation import encoder_named
from memshare.memory_service.pool.encoder_names import first_name, folder_of, tuned_name
from memshare.memory_service.pool.move import Pages
from memshare.memory_service.stores.store import Store
from memshare.retriever_trainer.consolidation.carry_over import carry_over
from memshare.retriever_trainer.consolidation.check import MOST_LOST, Adapters, Check, PoolLessons, check
from memshare.retriever_trainer.consolidation.consolidation_lock import alone
from memshare.retriever_trainer.consolidation.finetune import TextLesson, fine_tune
from memshare.retriever_trainer.consolidation.lesson_texts import Texts, as_texts, general_anchors, read_texts
from memshare.retriever_trainer.consolidation.outcome import Consolidated, Worse
from memshare.retriever_trainer.consolidation.swap import swap
from memshare.retriever_trainer.lesson_log import LessonLog, retrievers

FEWEST_LESSONS, FEWEST_HELD_OUT = 50, 3
SEED = 0


class Progress(Protocol):
    def __call__(self, what: str, done: int, total: int | None) -> None:
        """Told what is being done, how far it is, and what it goes up to where that is known."""


class Consolidation:
    """The work on one pool of memories; `pages` reads it, `in_use` is the encoder that it has."""

    def __init__(self, settings: Settings, client: redis.Redis, pages: Pages, in_use: str, progress: Progress) -> None:
        self._settings = settings
        self._client = client
        self._pages = pages
        self._in_use = in_use
        self._progress = progress

    def train(self, pool: str | None) -> Consolidated:
        """Train the encoder in use on the lessons of all pools, or of one, and put it into use if it passes.

        Raises `BadInput` where there is too little to train on, `Worse` where the check fails: the held-out lessons
        must not be ranked worse, and the untouched probe may lose at most .02 nDCG.
        """
        with alone(self._settings.encoders_dir):
            return self._train(pool)

    def _train(self, pool: str | None) -> Consolidated:
        # 1. Read the lessons, and their texts in the pool.
        logs = {name: self._log(name, self._in_use) for name in retrievers(self._client, self._in_use)}
        trained = [name for name in logs if pool in (None, name)]
        kept = {name: (log.lessons(), log.held_out()) for name, log in logs.items()}
        held_out = sum(len(held) for _, held in kept.values())
        self._require_enough(pool, sum(len(kept[name][0]) for name in trained), held_out)
        texts = read_texts(
            self._pages,
            [lesson for both in kept.values() for part in both for lesson in part],
            trained,
            partial(self._progress, "Reading the pool", total=None),
        )
        lessons = {
            name: PoolLessons(list(as_texts(learnt, texts.keys)), list(as_texts(held_out, texts.keys)))
            for name, (learnt, held_out) in kept.items()
        }
        training = [lesson for name in trained for lesson in lessons[name].learnt]
        self._require_enough(pool, len(training), sum(len(of_pool.held_out) for of_pool in lessons.values()))

        # 2. Train, beside what is in use.
        fresh = self._settings.encoders_dir / f"fresh-{os.getpid()}"
        try:
            self._fine_tune(training, texts, fresh)
            # 3. Check, on what was not trained on.
            self._progress("Checking it", 0, None)
            found = self._check(fresh, lessons, logs)
            if not found.passed:
                raise Worse(_why(found))
            name = tuned_name(self._in_use, _digest(fresh))
            folder = folder_of(self._settings, name)
            if not folder.exists():  # the same may have come out of a consolidation that was killed after this
                fresh.rename(folder)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

        # 4. Re-encode, and swap.
        self._swap(name, texts.memories, found.adapters)
        return Consolidated(
            encoder_before=self._in_use,
            encoder=name,
            pools=tuple(trained),
            lessons=len(training),
            memories=texts.memories,
            held_out_accuracy=found.held_out,
            probe_ndcg=found.probe,
        )

    def move_to(self, name: str, *, with_lessons: bool) -> Consolidated:
        """Re-encode the pool with an encoder as it is, and put that into use.

        Without its lessons for an encoder that was in use before and still has those it learnt from.
        """
        with alone(self._settings.encoders_dir):
            reading = partial(self._progress, "Reading the pool", total=None)
            memories = read_texts(self._pages, [], [], reading).memories
            self._swap(name, memories, {}, with_lessons=with_lessons)
        return Consolidated(encoder_before=self._in_use, encoder=name, pools=(), lessons=0, memories=memories)

    def _fine_tune(self, lessons: list[TextLesson], texts: Texts, target: Path) -> None:
        first = self._in_use == first_name(self._settings)
        source = self._settings.encoder or bundled_folder() if first else folder_of(self._settings, self._in_use)
        torch.set_num_threads(max(1, processors() - 1))  # agents go on answering on this machine
        fine_tune(
            source,
            lessons,
            [*texts.anchors, *general_anchors()],
            target,
            device=torch_device(self._settings.device),
            seed=SEED,
            progress=partial(self._progress, "Training the encoder"),
        )

    def _check(self, fresh: Path, lessons: dict[str, PoolLessons], logs: dict[str, LessonLog]) -> Check:
        published = {name: log.published(log.head().version) for name, log in logs.items()}
        return check(
            encoder_named(self._settings, self._in_use),
            SentenceTransformerEncoder(str(fresh), device=self._settings.device),
            lessons,
            {name: version.unpack() for name, version in published.items() if version},
        )

    def _swap(self, name: str, memories: int, adapters: Adapters, *, with_lessons: bool = True) -> None:
        encoder = encoder_named(self._settings, name)

        def prepare(store: Store) -> None:
            for pool in retrievers(self._client, self._in_use) if with_lessons else ():
                old, new = self._log(pool, self._in_use), self._log(pool, name)
                carry_over(old, new, store, adapters.get(pool))

        swap(
            self._settings,
            self._client,
            self._pages,
            encoder,
            before=self._in_use,
            prepare=prepare,
            progress=lambda done: self._progress("Re-encoding the pool", min(done, memories), memories),
        )

    def _log(self, pool: str, encoder: str) -> LessonLog:
        settings = self._settings
        return LessonLog(self._client, pool, encoder, kept=settings.lessons_kept, keep_days=settings.keep_days)

    def _require_enough(self, pool: str | None, training: int, held_out: int) -> None:
        if self._in_use.startswith("openai:"):
            raise BadInput(f"The encoder {self._in_use!r} is not ours to train; its adapters learn all the same.")
        of = f"pool {pool!r}" if pool else "all pools together"
        if training < FEWEST_LESSONS or held_out < FEWEST_HELD_OUT:
            raise BadInput(
                f"There are {training} lessons of {of} to train on, and it takes {FEWEST_LESSONS}. Each accepted"
                " answer is one, once its pool has some memories: `memshare retriever status` counts them."
            )


def _why(found: Check) -> str:
    held_out, probe = found.held_out, found.probe
    return (
        f"The trained encoder was refused, and nothing was changed: held-out accuracy {held_out.before:.3f} →"
        f" {held_out.after:.3f} (must not fall), nDCG on the probe {probe.before:.3f} → {probe.after:.3f} (may lose"
        f" {MOST_LOST}). The retriever goes on learning; try again with more lessons."
    )


def _digest(folder: Path) -> str:
    """A hash of the weights, which names the encoder."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.safetensors")):
        digest.update(file.read_bytes())
    return digest.hexdigest()
