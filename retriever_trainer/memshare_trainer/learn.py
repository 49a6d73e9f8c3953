"""Learn: a new memory, or graded answers, become one step of their pool's retriever."""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from typing import NamedTuple

import redis

from memshare_broker.delivery.hops import COMPARE
from memshare_broker.delivery.stage import Outcome
from memshare_broker.observe.logs import ids
from memshare_broker.observe.metrics import NOW, Sample, count
from memshare_broker.wire.comparisons import CompareTask, Said
from memshare_broker.wire.lessons import Lesson, LessonTask
from memshare_llm.no_model import NoModelSet
from memshare_llm.structured import DoesNotFit
from memshare_memory.recall.conflicts import Conflicts
from memshare_trainer.change import Change, Head, Update
from memshare_trainer.labels import Labeller, Labels
from memshare_trainer.learner import FEWEST_HELD_OUT, FEWEST_OUTCOMES, Learner
from memshare_trainer.lesson_log import LessonLog
from memshare_trainer.reservoir import is_held_out
from memshare_trainer.stored_lesson import UNDECIDED, StoredLesson

log = logging.getLogger(__name__)

AT_ONCE = 100  # words of evidence that are learnt from with one message
SURE = 2  # errors; each version is compared with the luckiest one so far, and one error refused a third of good ones


class Taught(NamedTuple):
    """What labels came to: the record, and the labels where there is something to learn."""

    record: Lesson
    labels: Labels | None = None


class LearnStage:
    """The stage's work. Lessons are labelled side by side; of one retriever they are learnt one at a time."""

    def __init__(self, client: redis.Redis, labeller: Labeller, *, kept: int, keep_days: float) -> None:
        self._client = client
        self._labeller = labeller
        self._kept = kept
        self._keep_days = keep_days
        self._learners: dict[tuple[str, str], Learner] = {}
        self._turns: defaultdict[tuple[str, str], threading.Lock] = defaultdict(threading.Lock)

    def run(self, journey: str, task: LessonTask) -> Outcome:
        """Label the candidates, and learn from them and from what graded answers said since; or say why not."""
        name = (task.pool, task.embedding.encoder)
        lessons = LessonLog(self._client, *name, kept=self._kept, keep_days=self._keep_days)
        record = lessons.done(journey)
        if record is None:
            taught = self._label(lessons, task)
            with self._turns[name]:
                learner = self._learners.setdefault(name, Learner(lessons, task.embedding.unpack().size))
                while record is None:  # once, unless another trainer has taken over in the middle
                    record = _learn(lessons, learner, journey, task, taught)
        about = ids(task_id=journey, memory_id=task.memory_id, pool=task.pool)
        log.info("Lesson: %s, %s.", record.outcome, record.reason, extra=about)
        # Where they were not asked about with the labels, the scorer is asked.
        comparison = COMPARE.next(_rivals(task)) if task.rivals and record.compared is None else None
        return Outcome(record, comparison, record.outcome, _counted(task.pool, record))

    def _label(self, lessons: LessonLog, task: LessonTask) -> Taught:
        if not task.candidates:
            return Taught(Lesson(outcome="no update", reason="it brings evidence alone"))
        try:
            labels = self._labeller.label(task)
        except (DoesNotFit, NoModelSet) as error:
            return Taught(Lesson(outcome="no update", reason=f"there are no labels: {error}"))
        if labels.compared is not None:
            Conflicts(self._client).note(task.pool, labels.compared, task.rivals)
        helping = sum(label < UNDECIDED for label in labels.values)
        misleading = sum(label > UNDECIDED for label in labels.values)
        record = Lesson(
            outcome="no update",
            reason=f"{helping} of {len(labels.values)} candidates help and {misleading} mislead; it takes at least one"
            " of each",
            labelled_by=labels.way,
            positives=helping,
            negatives=misleading,
            compared=labels.compared,
            usage=labels.usage,
        )
        teaches = bool(helping and misleading)
        lessons.note_labels(teaches=teaches)
        return Taught(record, labels if teaches else None)


def _rivals(task: LessonTask) -> CompareTask:
    """The question whether a lesson's memory contradicts some of its candidates."""
    assert task.memory_id is not None
    return CompareTask(
        journey=task.journey,
        pool=task.pool,
        agent=task.agent,
        submitter=task.submitter,
        memory=Said(id=task.memory_id, prompt=task.prompt, answer=task.answer),
        others=tuple(
            Said(id=one.id, prompt=one.prompt, answer=one.answer) for one in task.candidates if one.id in task.rivals
        ),
    )


def _counted(pool: str, record: Lesson) -> tuple[Sample, ...]:
    refused = (count("memshare_retriever_refused_total", pool=pool),) if record.refused else ()
    taught = record.outcome in ("learnt", "held out")
    ended = (count("memshare_last_lesson_timestamp_seconds", NOW, pool=pool),) if taught else ()
    return (count("memshare_lessons_total", pool=pool), *ended, *refused)


def _learn(lessons: LessonLog, learner: Learner, journey: str, task: LessonTask, taught: Taught) -> Lesson | None:
    # 1. Begin where the retriever stands, whoever brought it there. What takes long is done before the lease.
    learner.catch_up()
    with lessons.lease() as fence:
        head = learner.catch_up()
        counted, record, kept = head.counted, taught.record, None

        # 2. Make one step on the lesson and on the evidence that waits, and compare with the version in use.
        evidence = lessons.waiting(AT_ONCE)
        if taught.labels is not None:
            counted += 1
            kept = StoredLesson.of(counted, task, taught.labels)
        words = learner.take_in(kept, list(evidence.values()))
        if kept or words:
            held_out = kept is not None and is_held_out(counted)
            judged = {"evidence": words} | _judged(head, learner, held_out=held_out and not words)
            record = record.model_copy(update=judged)

        # 3. Write it all at once.
        learnt, published = learner.learnt, None
        if record.version is not None:
            accuracies = record.model_dump(include={"accuracy_before", "accuracy_after"})
            published = learnt.published(record.version, lessons.encoder, lessons=counted, **accuracies)
        update = Update(at=time.time(), memory_id=task.memory_id, counted=counted, lesson=record)
        checkpoint = learner.checkpoint()
        change = Change(update, learnt.standings, kept, evidence, checkpoint, learner.steps, published)
        stands = None
        try:
            stands = lessons.commit(fence, journey, change)
        finally:
            if stands != record:
                learner.forget()
        if stands == record:
            learner.written(counted, record, checkpointed=checkpoint is not None)
        return stands


def _judged(head: Head, learner: Learner, *, held_out: bool) -> dict[str, object]:
    """What a step did to the retriever: a new version, unless what is held out is ranked worse for sure."""
    if held_out:
        return {"outcome": "held out", "reason": "one lesson in ten is never trained on"}
    compared = learner.compare()
    if not compared:
        reason = (
            f"no version yet: the first one needs {FEWEST_HELD_OUT} held-out lessons (one in ten is held out, so some "
            f"{10 * FEWEST_HELD_OUT} in all) or {FEWEST_OUTCOMES} held-out outcomes"
        )
        return {"outcome": "learnt", "reason": reason}
    first, ndcg = compared[0].first, compared[0].ndcg
    learnt: dict[str, object] = {
        "outcome": "learnt",
        "accuracy_before": first.before,
        "accuracy_after": first.after,
        "ndcg_before": ndcg.before,
        "ndcg_after": ndcg.after,
    }
    for one, of in zip(compared, ("", " on the older lessons"), strict=False):
        for figure, name in ((one.first, "how often what is shown first helps"), (one.ndcg, "nDCG")):
            if figure.fell(SURE):
                fall = f"{name}{of} would fall from {figure.before:.3f} to {figure.after:.3f}"
                error = f"more than twice its error of {figure.error:.3f}"
                return learnt | {"reason": f"refused: {fall}, {error}; version {head.version} stays", "refused": True}
    reason = f"what is shown first helps {first.after:.0%} of the time, before {first.before:.0%}"
    return learnt | {"reason": reason, "version": head.issued + 1}
