"""Learn: a new memory becomes one step of its pool's retriever, which is published if it ranks no worse."""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from typing import NamedTuple

import redis

from memshare.broker.delivery.stage import Outcome
from memshare.broker.observe.logs import ids
from memshare.broker.observe.metrics import NOW, Sample, count
from memshare.broker.wire.lessons import Lesson, LessonTask
from memshare.llm.structured import DoesNotFit
from memshare.memory_service.recall.retriever import PublishedAdapter
from memshare.retriever_trainer.accuracy import pairwise_accuracy
from memshare.retriever_trainer.feedback_switch import FeedbackSwitch
from memshare.retriever_trainer.kept_lesson import KeptLesson
from memshare.retriever_trainer.kept_pace import KeptPace
from memshare.retriever_trainer.labels import Labeller, Labels
from memshare.retriever_trainer.learner import FEWEST_HELD_OUT, Learner
from memshare.retriever_trainer.lesson_log import Change, Head, LessonLog
from memshare.retriever_trainer.reservoir import is_held_out
from memshare.retriever_trainer.selection import UNDECIDED, select
from memshare.retriever_trainer.update import Update

log = logging.getLogger(__name__)


class Taught(NamedTuple):
    """What a lesson came to: its record, and its labels where there is something to learn."""

    record: Lesson
    labels: Labels | None = None


class Learn:
    """The stage's work. Lessons are labelled side by side; of one retriever they are learnt one at a time."""

    def __init__(
        self,
        client: redis.Redis,
        labeller: Labeller,
        *,
        kept: int,
        keep_days: float,
        feedback: FeedbackSwitch | None = None,
    ) -> None:
        """Without `feedback` nobody looks whether recalls should feed something back."""
        self._feedback = feedback
        self._client = client
        self._labeller = labeller
        self._kept = kept
        self._keep_days = keep_days
        self._learners: dict[tuple[str, str], Learner] = {}
        self._turns: defaultdict[tuple[str, str], threading.Lock] = defaultdict(threading.Lock)

    def run(self, journey: str, task: LessonTask) -> Outcome:
        """Label the candidates and learn from them; says why when there is nothing to learn."""
        name = (task.pool, task.embedding.encoder)
        pace = KeptPace(self._client, *name)
        lessons = LessonLog(self._client, *name, kept=self._kept, keep_days=self._keep_days)
        record = lessons.done(journey)
        if record is None:
            taught = self._label(task)
            with self._turns[name]:
                learner = self._learners.setdefault(name, Learner(lessons, task.embedding.unpack().size))
                while record is None:  # once, unless another trainer has taken over in the middle
                    record = _learn(lessons, pace, learner, journey, task, taught)
            if self._feedback and record.outcome == "held out":
                self._feedback.look_again(lessons)
        about = ids(task_id=journey, memory_id=task.memory_id, pool=task.pool)
        log.info("Lesson: %s, %s.", record.outcome, record.reason, extra=about)
        return Outcome(record, ended=record.outcome, counted=_counted(task.pool, record))

    def _label(self, task: LessonTask) -> Taught:
        try:
            labels = self._labeller.label(task)
        except DoesNotFit as error:
            return Taught(Lesson(outcome="no update", reason=f"there are no labels: {error}"))
        selection = select(labels.values, task.barred)
        barred = [task.candidates[place].id for place in sorted(task.barred) if labels.values[place] < UNDECIDED]
        on_probation = f" ({len(barred)} more would, and wait on probation)" if barred else ""
        record = Lesson(
            outcome="no update",
            reason=f"{len(selection.positives)} of {len(labels.values)} candidates help{on_probation} and"
            f" {len(selection.negatives)} mislead; it takes at least one of each",
            barred=tuple(barred),
            labelled_by=labels.way,
            positives=len(selection.positives),
            negatives=len(selection.negatives),
            usage=labels.usage,
        )
        return Taught(record, labels if selection.enough else None)


def _counted(pool: str, record: Lesson) -> tuple[Sample, ...]:
    refused = (count("memshare_retriever_refused_total", pool=pool),) if record.refused else ()
    taught = record.outcome in ("learnt", "held out")
    ended = (count("memshare_last_lesson_timestamp_seconds", NOW, pool=pool),) if taught else ()
    return (count("memshare_lessons_total", pool=pool), *ended, *refused)


def _learn(
    lessons: LessonLog, pace: KeptPace, learner: Learner, journey: str, task: LessonTask, taught: Taught
) -> Lesson | None:
    # 1. Begin where the retriever stands, whoever brought it there. What takes long is done before the lease.
    learner.catch_up()
    with lessons.lease() as fence:
        head = learner.catch_up()
        counted, record, kept = head.counted, taught.record, None

        # 2. Make one step, or hold the lesson out, and compare with the version in use.
        if taught.labels is not None:
            counted += 1
            kept = KeptLesson.of(counted, task, taught.labels)
            at_first = pairwise_accuracy(learner.in_use, [kept.example()])
            learner.take_in(kept)
            record = record.model_copy(update={"accuracy_at_first": at_first})
            record = record.model_copy(update=_judged(head, learner, held_out=is_held_out(counted)))

        # 3. Write it all at once.
        published = None
        if record.version is not None:
            published = PublishedAdapter.pack(
                record.version,
                lessons.encoder,
                learner.weights,
                lessons=counted,
                accuracy_before=record.accuracy_before,
                accuracy_after=record.accuracy_after,
            )
        update = Update(at=time.time(), memory_id=task.memory_id, counted=counted, lesson=record)
        checkpoint = learner.checkpoint(counted)
        stands = lessons.commit(fence, journey, record, counted, Change(update, kept, checkpoint, published))
        if stands != record:
            learner.lost()
        else:
            learner.written(counted, record.version, checkpointed=checkpoint is not None)
            pace.note(record)
        return stands


def _judged(head: Head, learner: Learner, *, held_out: bool) -> dict[str, object]:
    """What a lesson did to the retriever: a new version, if it ranks the held-out lessons no worse."""
    if held_out:
        return {"outcome": "held out", "reason": "one lesson in ten is never trained on"}
    compared = learner.compare()
    if not compared:
        reason = f"no version yet: it takes {FEWEST_HELD_OUT} held-out lessons to check one"
        return {"outcome": "learnt", "reason": reason}
    before, after = compared[0].before, compared[0].after
    learnt: dict[str, object] = {"outcome": "learnt", "accuracy_before": before, "accuracy_after": after}
    for one, of in zip(compared, ("", " on the older lessons"), strict=True):
        if one.worse:
            fall = f"held-out accuracy{of} would fall from {one.before:.3f} to {one.after:.3f}"
            return learnt | {"reason": f"refused: {fall}; version {head.version} stays", "refused": True}
    reason = f"held-out accuracy {after:.3f}, before {before:.3f}"
    return learnt | {"reason": reason, "version": head.issued + 1}
