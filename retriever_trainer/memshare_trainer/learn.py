"""Learn: a new memory, or graded answers, become one step of their pool's retriever."""

from __future__ import annotations

import logging
import threading
from collections import defaultdict

import redis

from memshare_broker.delivery.hops import COMPARE, NOTE_COMPARED, NextMessage
from memshare_broker.delivery.stage import Outcome
from memshare_broker.errors import GiveUp, TryAgain
from memshare_broker.observe.logs import ids
from memshare_broker.observe.metrics import NOW, Sample, count
from memshare_broker.wire.lessons import ComparedPairs, CompareTask, Lesson, LessonTask, Said
from memshare_broker.wire.messages import PaidTask
from memshare_broker.wire.spaces import space_of
from memshare_llm.batches import TOO_MUCH
from memshare_llm.models import NoModelSet
from memshare_trainer.labels import Labeller
from memshare_trainer.learning.learner import Learner, Taught
from memshare_trainer.lessons.lesson import UNDECIDED, border
from memshare_trainer.lessons.lesson_log import LessonLog
from memshare_trainer.percentages import LabelCheck

log = logging.getLogger(__name__)


class LearnStage:
    """The stage's work. Lessons are labelled side by side; of one retriever they are learnt one at a time."""

    def __init__(
        self, client: redis.Redis, labeller: Labeller, check: LabelCheck | None = None, *, kept: int, keep_days: float
    ) -> None:
        self._client = client
        self._labeller = labeller
        self._check = check
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
            lesson = self._label(lessons, journey, task)
            with self._turns[name]:
                learner = self._learners.setdefault(name, Learner(lessons, task.embedding.unpack().size))
                record = learner.learn(lesson)
        about = ids(task_id=journey, memory_id=task.memory_id, pool=task.pool)
        log.info("Lesson: %s, %s.", record.outcome, record.reason, extra=about)
        return Outcome(record, _on_rivals(task, record), record.outcome, _counted(task.pool, record))

    def _label(self, lessons: LessonLog, journey: str, task: LessonTask) -> Taught:
        if not task.candidates:
            return Taught(journey, task, Lesson(outcome="no update", reason="it brings evidence alone"))
        if self._check and (why := self._check.paused()):
            return Taught(journey, task, Lesson(outcome="no update", reason=f"there are no labels: {why}"))
        try:
            labels = self._labeller.label(task)
        except (TryAgain, GiveUp) as error:
            if error.reason not in TOO_MUCH and not isinstance(error, NoModelSet):
                raise
            return Taught(journey, task, Lesson(outcome="no update", reason=f"there are no labels: {error}"))
        helping = sum(label < UNDECIDED for label in labels.values)
        misleading = sum(label > UNDECIDED for label in labels.values)
        record = Lesson(
            outcome="no update",
            reason=f"{helping} of {len(labels.values)} candidates help and {misleading} mislead: none is better than"
            " another",
            labelled_by=labels.way,
            model=labels.model,
            positives=helping,
            negatives=misleading,
            compared=labels.compared,
            usage=labels.usage,
            weight=self._check.trust() if self._check else 1.0,
        )
        if self._check and task.memory_id is not None:
            of_each = {candidate.id: label for candidate, label in zip(task.candidates, labels.values, strict=True)}
            self._check.note(of_each, task.memory_id, lessons.every_word())
        teaches = border(labels.values) is not None
        lessons.note_labels(teaches=teaches)
        return Taught(journey, task, record, labels if teaches else None)


def _on_rivals(task: LessonTask, record: Lesson) -> NextMessage | None:
    """Verdicts on rivals that came with the labels; where there were none, the question for the scorer."""
    if not task.rivals:
        return None
    if record.compared is not None:
        said = ComparedPairs(journey=task.journey, pool=task.pool, compared=record.compared, others=task.rivals)
        return NOTE_COMPARED.next(said)
    assert task.memory_id is not None
    memory = Said.of(task.memory_id, task.prompt, task.answer)
    others = tuple(
        Said.of(rival.id, rival.prompt, rival.answer) for rival in task.candidates if rival.id in task.rivals
    )
    paid_by = task.model_dump(include=set(PaidTask.model_fields))
    return COMPARE.next(CompareTask(**paid_by, memory=memory, others=others))


def _counted(pool: str, record: Lesson) -> tuple[Sample, ...]:
    pool = space_of(pool)  # there are as many of people's own as there are people
    refused = (count("memshare_retriever_refused_total", pool=pool),) if record.refused else ()
    taught = record.outcome in ("learnt", "held out")
    ended = (count("memshare_last_lesson_timestamp_seconds", NOW, pool=pool),) if taught else ()
    return (count("memshare_lessons_total", pool=pool), *ended, *refused)
