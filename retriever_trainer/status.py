"""How the retriever of each pool stands: its versions, its lessons, and how well it ranks what it never learnt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import redis
from pydantic import ValidationError

from memshare.broker.settings import Settings
from memshare.broker.wire.messages import Message
from memshare.memory_service.admit.lesson_share import lesson_share
from memshare.memory_service.pool.encoder_names import BEFORE
from memshare.memory_service.recall.feedback import FeedbackInUse, read
from memshare.memory_service.recall.retriever import PublishedAdapter, feedback_key
from memshare.retriever_trainer.accuracy import Array, Example, pairwise_accuracy
from memshare.retriever_trainer.lesson_log import LessonLog, retrievers
from memshare.retriever_trainer.update import Update


class KeptVersion(Message):
    """A version that can be gone back to; the accuracies are of when it was published, 0 to 1."""

    version: int
    lessons: int
    accuracy_before: float | None
    accuracy_after: float | None


class LessonCounts(Message):
    """How many lessons came to what; those that were carried over came to it with an earlier encoder."""

    learnt: int
    held_out: int
    refused: int
    no_update: int
    carried_over: int

    @property
    def counted(self) -> int:
        """All that there was something to learn from."""
        return self.learnt + self.held_out + self.refused + self.carried_over


class HeldOutAccuracy(Message):
    """Pairwise accuracy, 0 to 1, on the lessons that are held out now; None where there are none."""

    untrained: float | None
    in_use: float | None
    lessons: int


class PoolStatus(Message):
    """The retriever of one pool.

    `fault` says why no process can use the version in use, if that is so: they stay with the one before it.
    `labelled_by` counts the kept lessons by how their labels were made. `lesson_share` is the share of the usual
    number of lessons that are worth it now (`memshare.retriever_trainer.pace`). `updates` has the newest last.
    `feedback` is what recalls feed back, and why; None: nothing.
    """

    version: int
    fault: str | None
    versions: tuple[KeptVersion, ...]
    lessons: LessonCounts
    held_out_accuracy: HeldOutAccuracy
    labelled_by: dict[str, int]
    lesson_share: float = 1.0
    updates: tuple[Update, ...]
    feedback: FeedbackInUse | None = None


class Status(Message):
    """The encoder in use, the one before the last consolidation, and the pools that have had a lesson."""

    encoder: str
    encoder_before: str | None
    pools: dict[str, PoolStatus]


def read_status(client: redis.Redis, settings: Settings, encoder: str, pool: str | None, updates: int) -> Status:
    """The status of all pools with this encoder, or of one; of each pool's updates the last so many."""
    before = client.get(BEFORE)
    return Status(
        encoder=encoder,
        encoder_before=str(before) if before and before != encoder else None,
        pools={
            name: _of_pool(
                LessonLog(client, name, encoder, kept=settings.lessons_kept, keep_days=settings.keep_days),
                lesson_share(client, name, encoder),
                updates,
                client.get(feedback_key(name, encoder)),
            )
            for name in retrievers(client, encoder)
            if pool in (None, name)
        },
    )


def _of_pool(log: LessonLog, share: float, updates: int, feedback: str | bytes | None) -> PoolStatus:
    head, counts, held_out = log.head(), log.counts(), log.held_out()
    counted = counts["learnt"] + counts["held out"] + counts["refused"]
    weights, fault = _in_use(log, head.version)
    return PoolStatus(
        version=head.version,
        fault=fault,
        versions=tuple(_kept(version, _published(log, version)) for version in log.versions()),
        lessons=LessonCounts(
            learnt=counts["learnt"],
            held_out=counts["held out"],
            refused=counts["refused"],
            no_update=counts["no update"],
            carried_over=max(0, head.counted - counted),
        ),
        held_out_accuracy=_accuracy(head.version, weights, [lesson.example() for lesson in held_out]),
        labelled_by=dict(Counter(lesson.labelled_by for lesson in (*log.lessons(), *held_out))),
        lesson_share=share,
        updates=tuple(log.updates()[-updates:]),
        feedback=read(feedback, log.pool),
    )


def _published(log: LessonLog, version: int) -> PublishedAdapter | None:
    try:
        return log.published(version)
    except ValidationError:
        return None


def _in_use(log: LessonLog, version: int) -> tuple[Array | None, str | None]:
    """The weights of the version in use, or why they cannot be used; version 0 has none."""
    if not version:
        return None, None
    published = _published(log, version)
    if published is None:
        return None, "it is missing, or no adapter"
    if published.encoder != log.encoder:
        return None, f"it was made for the encoder {published.encoder!r}"
    try:
        return published.unpack(), None
    except ValueError as error:
        return None, str(error)


def _accuracy(version: int, weights: Array | None, examples: Sequence[Example]) -> HeldOutAccuracy:
    if not examples:
        return HeldOutAccuracy(untrained=None, in_use=None, lessons=0)
    untrained = pairwise_accuracy(np.zeros((examples[0].query.size,) * 2, np.float32), examples)
    in_use = pairwise_accuracy(weights, examples) if weights is not None else None
    return HeldOutAccuracy(untrained=untrained, in_use=in_use if version else untrained, lessons=len(examples))


def _kept(version: int, published: PublishedAdapter | None) -> KeptVersion:
    if published is None:
        return KeptVersion(version=version, lessons=0, accuracy_before=None, accuracy_after=None)
    return KeptVersion(
        version=version,
        lessons=published.lessons,
        accuracy_before=published.accuracy_before,
        accuracy_after=published.accuracy_after,
    )
