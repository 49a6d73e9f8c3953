"""Consolidation: what the lessons have taught goes into the encoder itself, and the pool is re-encoded by it.

Everything is made beside what is in use, and the swap is one step: killed anywhere before it, nothing has changed.
The next one goes on with the encoder that a killed one had trained; it checks that again, and re-encodes what was not
re-encoded yet.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

import redis
import torch

from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from memshare_broker.wire.messages import derived_id
from memshare_memory.encoders.encoder import BEFORE, ENCODER, Encoder, bundled_folder, first_name, folder_of, tuned_name
from memshare_memory.encoders.open_encoder import within_reach
from memshare_memory.encoders.sentence_encoder import SentenceTransformerEncoder, torch_device
from memshare_memory.pool.owner import WriteGate
from memshare_memory.pool.pool import Move, Pages, encoder_named
from memshare_memory.stores.open_store import open_store, put_in_use
from memshare_memory.stores.store import Layout, Store
from memshare_trainer.consolidation.consolidation_state import (
    COPY,
    FEWEST_LESSONS,
    GROWTH,
    Consolidated,
    Trial,
    Worse,
    alone,
    count_lessons,
    recorded,
    tried,
)
from memshare_trainer.consolidation.finetune import Check, check, fine_tune, steps_for
from memshare_trainer.consolidation.pool_record import (
    OWNER,
    PoolRecord,
    TextLesson,
    Texts,
    carry_over,
    general_texts,
    read_texts,
)
from memshare_trainer.lesson_log import LessonLog, retrievers
from memshare_trainer.proof import LearntRetriever


def swap(
    settings: Settings,
    client: redis.Redis,
    pages: Pages,
    encoder: Encoder,
    *,
    before: str,
    prepare: Callable[[Store], None],
    progress: Callable[[int], None],
) -> None:
    """Re-encode the pool with the encoder and put that into use; `before` is the encoder that it takes over from.

    `prepare` is called with the finished store, while nobody writes, right before the step. Agents answer and
    memories are settled all the time, but for the last pass.
    """
    layout = Layout(encoder.name, encoder.dimension)

    # 1. Copy what there is. Opening the store again lets its engine build its index here and not at its next owner.
    with closing(open_store(settings, layout, OWNER, beside=True)) as target:
        Move(pages, target, encoder).catch_up(progress)
    with ExitStack() as gate:
        with closing(open_store(settings, layout, OWNER, beside=True)) as target:
            move = Move(pages, target, encoder)
            move.catch_up(progress)

            # 2. The last pass, with nothing written meanwhile.
            alive = gate.enter_context(WriteGate(client).closed())
            move.catch_up(lambda _: alive())
            prepare(target)

        # 3. The step. Every process looks at this key before it reads or writes.
        alive()
        client.mset({ENCODER: encoder.name, BEFORE: before})
    put_in_use(settings, layout)


FEWEST_HELD_OUT = 3
TRAINED = "trained-"  # then what it was trained from, and on how many lessons
SEED = 0


class Progress(Protocol):
    def __call__(self, what: str, done: int, total: int | None) -> None:
        """Told what is being done, how far it is, and what it goes up to where that is known."""


class Trained(NamedTuple):
    """An encoder that was trained beside the one in use, on so many lessons of some pools, and its check."""

    folder: Path
    pools: tuple[str, ...]
    lessons: int
    memories: int
    check: Check


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
        must not be ranked worse by more than the error, and the untouched probe may lose .01 nDCG and the error.
        """
        lessons = count_lessons(self._client, self._in_use)
        with alone(self._settings.encoders_dir):
            return recorded(self._client, lessons, lambda: self._train(pool))

    def try_out(self, pool: str | None) -> Trial:
        """Train and check as `train` does, and say what that would bring; the trained encoder is removed."""
        begun = time.time()

        def work() -> Trial:
            made = self._checked(pool)
            shutil.rmtree(made.folder)
            return Trial(
                at=begun,
                seconds=round(time.time() - begun, 1),
                encoder=self._in_use,
                pools=made.pools,
                lessons=made.lessons,
                held_out=made.check.held_out.lessons,
                memories=made.memories,
                accepted=made.check.passed,
                **made.check.figures,
            )

        with alone(self._settings.encoders_dir):
            return tried(self._client, work)

    def _checked(self, pool: str | None) -> Trained:
        # 1. Read the lessons, and their texts in the pool.
        logs = {name: self._log(name, self._in_use) for name in retrievers(self._client, self._in_use)}
        trained = [name for name in logs if pool in (None, name)]
        records = {name: PoolRecord.of(log) for name, log in logs.items()}
        held_out = sum(len(record.held_out) for record in records.values())
        self._require_enough(pool, sum(len(records[name].learnt) for name in trained), held_out)
        texts = read_texts(
            self._pages,
            {memory for record in records.values() for memory in record.memories},
            partial(self._progress, "Reading the pool", total=None),
        )
        training = [lesson for name in trained for lesson in records[name].as_texts(texts.keys)]
        self._require_enough(pool, len(training), held_out)

        # 2. Train, beside what is in use.
        fresh = self._fine_tuned(training, pool)

        # 3. Check, on what was not trained on.
        self._progress("Checking it", 0, None)
        found = self._check(fresh, records, texts, logs)
        return Trained(fresh, tuple(trained), len(training), texts.memories, found)

    def _train(self, pool: str | None) -> Consolidated:
        fresh, pools, lessons, memories, found = self._checked(pool)
        if not found.passed:
            shutil.rmtree(fresh)
            raise Worse(found.refusal)
        name = tuned_name(self._in_use, _digest(fresh))
        folder = folder_of(self._settings, name)
        if not folder.exists():  # the same may have come out of a consolidation that was killed after this
            copy = fresh.with_name(f"{COPY}{os.getpid()}")
            shutil.copytree(fresh, copy)
            copy.rename(folder)

        # 4. Re-encode, and swap.
        self._swap(name, memories, found.learnt)
        shutil.rmtree(fresh)
        return Consolidated(
            encoder_before=self._in_use,
            encoder=name,
            pools=pools,
            lessons=lessons,
            memories=memories,
            held_out=found.held_out.lessons,
            **found.figures,
        )

    def move_to(self, name: str, *, with_lessons: bool) -> Consolidated:
        """Re-encode the pool with an encoder as it is, and put that into use.

        Without its lessons for an encoder that was in use before and still has those it learnt from.
        """
        with alone(self._settings.encoders_dir):
            reading = partial(self._progress, "Reading the pool", total=None)
            memories = read_texts(self._pages, [], reading).memories
            self._swap(name, memories, {}, with_lessons=with_lessons)
        return Consolidated(encoder_before=self._in_use, encoder=name, pools=(), lessons=0, memories=memories)

    def _fine_tuned(self, lessons: list[TextLesson], pool: str | None) -> Path:
        """The folder of the trained encoder; one that was killed has left it, where the lessons are nearly the same."""
        settings, of = self._settings, derived_id(self._in_use, pool or "").hex[:8]
        for left in settings.encoders_dir.glob(f"{TRAINED}*"):
            _, made_of, count = left.name.rsplit("-", 2)
            if made_of == of and len(lessons) < GROWTH * int(count):
                return left
            shutil.rmtree(left)
        target = settings.encoders_dir / f"{TRAINED}{of}-{len(lessons)}"
        torch.set_num_threads(1)  # agents go on answering on this machine
        fine_tune(
            settings.encoder or bundled_folder(),  # as it came: all lessons are there to be learnt again
            lessons,
            general_texts(),
            target,
            steps=steps_for(len(lessons)),
            device=torch_device(settings.device),
            seed=SEED,
            progress=partial(self._progress, "Training the encoder"),
        )
        return target

    def _first(self) -> Encoder:
        """The encoder of the settings, as it came."""
        return encoder_named(self._settings, first_name(self._settings))

    def _check(self, fresh: Path, records: dict[str, PoolRecord], texts: Texts, logs: dict[str, LessonLog]) -> Check:
        published = {name: log.published(log.head().version) for name, log in logs.items()}
        return check(
            self._first(),
            within_reach(SentenceTransformerEncoder(str(fresh), device=self._settings.device), fresh, self._first),
            records,
            texts.keys,
            {name: version.adapter() for name, version in published.items() if version},
        )

    def _swap(
        self, name: str, memories: int, learnt: Mapping[str, LearntRetriever], *, with_lessons: bool = True
    ) -> None:
        encoder = encoder_named(self._settings, name)

        def prepare(store: Store) -> None:
            for pool in retrievers(self._client, self._in_use) if with_lessons else ():
                old, new = self._log(pool, self._in_use), self._log(pool, name)
                carry_over(old, new, store, encoder, learnt.get(pool))

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


def _digest(folder: Path) -> str:
    """A hash of the weights, which names the encoder."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.safetensors")):
        digest.update(file.read_bytes())
    return digest.hexdigest()
