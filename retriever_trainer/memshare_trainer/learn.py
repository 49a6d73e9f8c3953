"""Learn: a new memory, or graded answers, become one step of their pool's retriever.

The learning of a retriever, as this process holds it, is caught up with the log before each message.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import redis

from memshare_broker.delivery.hops import COMPARE, NOTE_COMPARED, NextMessage
from memshare_broker.delivery.stage import Outcome
from memshare_broker.errors import GiveUp, TryAgain
from memshare_broker.observe.logs import ids
from memshare_broker.observe.metrics import NOW, Sample, count
from memshare_broker.wire.lessons import ComparedPairs, CompareTask, Evidence, Lesson, LessonTask, Said
from memshare_broker.wire.messages import PaidTask
from memshare_broker.wire.spaces import space_of
from memshare_llm.batches import LEFT_OUT, TOO_MUCH
from memshare_llm.models import NoModelSet
from memshare_memory.admit.crediting import LEAST_WEIGHT
from memshare_memory.recall.retriever import Adapter
from memshare_trainer.labels import Labeller, Labels
from memshare_trainer.lesson import (
    UNDECIDED,
    Example,
    Head,
    LessonChange,
    RankingComparison,
    StoredLesson,
    Update,
    border,
    compare,
    example_of,
    gains_of,
    scores,
)
from memshare_trainer.lesson_log import FEWEST_HELD_OUT, FIRST_VERSION, LessonLog, is_held_out
from memshare_trainer.percentages import LabelCheck
from memshare_trainer.proof import LearntRetriever, People, State, judged, people_of
from memshare_trainer.replay_buffer import Drawn, ReplayBuffer, is_held_out_evidence
from memshare_trainer.step import step

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
        record, failed = lessons.done(journey), None
        if record is None:
            lesson = self._label(lessons, journey, task)
            with self._turns[name]:
                learner = self._learners.setdefault(name, Learner(lessons, task.embedding.unpack().size))
                record, failed = learner.learn(lesson), lesson.failed
        about = ids(task_id=journey, memory_id=task.memory_id, pool=task.pool)
        log.info("Lesson: %s, %s.", record.outcome, record.reason, extra=about)
        ended, counted = record.outcome, _counted(task.pool, record)
        return Outcome(record, _on_rivals(task, record), ended, counted, goes_without=failed)

    def _label(self, lessons: LessonLog, journey: str, task: LessonTask) -> Taught:
        if not task.candidates:
            return Taught(journey, task, Lesson(outcome="no update", reason="it brings evidence alone"))
        check = None if task.labels else self._check
        if check and (why := check.paused()):
            return Taught(journey, task, Lesson(outcome="no update", reason=f"there are no labels: {why}"))
        try:
            labels = self._labeller.label(task)
        except (TryAgain, GiveUp) as error:
            if error.reason not in TOO_MUCH | LEFT_OUT and not isinstance(error, NoModelSet):
                raise
            lesson = Lesson(outcome="no update", reason=f"there are no labels: {error}")
            return Taught(journey, task, lesson, failed=None if isinstance(error, NoModelSet) else error)
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
            weight=check.trust() if check else 1.0,
        )
        if check and task.memory_id is not None:
            of_each = {candidate.id: label for candidate, label in zip(task.candidates, labels.values, strict=True)}
            check.note(of_each, task.memory_id, lessons.every_word())
        teaches = border(labels.values) is not None
        if not task.labels:
            lessons.note_labels(teaches=teaches)
        return Taught(journey, task, record, labels if teaches else None)


def _on_rivals(task: LessonTask, record: Lesson) -> NextMessage | None:
    """Verdicts on rivals that came with the labels; where there were none, the question for the scorer."""
    if not task.rivals:
        return None
    assert task.memory_id is not None
    memory = Said.of(task.memory_id, task.prompt, task.answer)
    others = tuple(
        Said.of(rival.id, rival.prompt, rival.answer) for rival in task.candidates if rival.id in task.rivals
    )
    if record.compared is not None:
        texts, compared = {each.id: each.digest for each in (memory, *others)}, record.compared
        pairs = ComparedPairs(journey=task.journey, pool=task.pool, compared=compared, others=task.rivals, said=texts)
        return NOTE_COMPARED.next(pairs)
    paid_by = task.model_dump(include=set(PaidTask.model_fields))
    return COMPARE.next(CompareTask(**paid_by, memory=memory, others=others))


def _counted(pool: str, record: Lesson) -> tuple[Sample, ...]:
    pool = space_of(pool)  # there are as many of people's own as there are people
    refused = (count("memshare_retriever_refused_total", pool=pool),) if record.refused else ()
    taught = record.outcome in ("learnt", "held out")
    ended = (count("memshare_last_lesson_timestamp_seconds", NOW, pool=pool),) if taught else ()
    return (count("memshare_lessons_total", pool=pool), *ended, *refused)


AT_ONCE = 100  # words of evidence that are learnt from with one message
FEWEST_OUTCOMES = 10  # held out; with fewer, and fewer lessons than it takes, nothing can be said of a version
OLDER = 2 / 3  # of the held-out lessons, on which alone a version must not get worse either
SURE = 2  # errors; each version is compared with the luckiest one so far, and one error refused a third of good ones
CHECKPOINT_EVERY = 10  # messages; the steps that come after the checkpoint are made again from the log

NOTHING_YET = (
    f"no version yet: the first one needs {FEWEST_HELD_OUT} held-out lessons (one in ten is held out, so some "
    f"{FIRST_VERSION} in all) or {FEWEST_OUTCOMES} held-out outcomes"
)


class Taught(NamedTuple):
    """A lesson to learn: its message, what its labels came to, the labels where there is something to learn, and why a
    call for them failed."""

    journey: str
    task: LessonTask
    record: Lesson
    labels: Labels | None = None
    failed: TryAgain | GiveUp | None = None


class Learner:
    """Holds the state, the examples and the version in use; learns under the log's lease."""

    def __init__(self, log: LessonLog, dimension: int) -> None:
        self._log = log
        self.dimension = dimension
        self.forget()

    def forget(self) -> None:
        """Begin anew with the next message, as after a step that was not written."""
        self._head = Head(epoch=-1, counted=0, issued=0, version=0, checkpoint_at=0, updates=0)
        self._state = State.start(self.dimension)
        self._buffer = ReplayBuffer()
        self.in_use = self._best = Adapter()

    def learn(self, lesson: Taught) -> Lesson:
        """Make a step on a lesson and on the evidence that waits, compare what came of it, and write it all at once.

        Returns the record that stands. Where another trainer has taken over in the middle, it is done again.
        """
        stands = self._learn(lesson)
        while stands is None:
            stands = self._learn(lesson)
        return stands

    def _learn(self, lesson: Taught) -> Lesson | None:
        self.catch_up()  # what takes long is done before the lease
        with self._log.lease() as fence:
            self.catch_up()
            is_written = False
            try:
                change = self._judge(lesson)
                stands = self._log.commit(fence, lesson.journey, change)
                is_written = stands == change.update.lesson
            finally:
                if not is_written:
                    self.forget()
            if is_written:
                self._note_written(change)
        return stands

    def catch_up(self) -> None:
        """Take in what other trainers, a rollback or an earlier life of this one have written."""
        head = self._log.head()
        people = people_of(self._log.client, self._log.pool)
        if (head.epoch, head.updates) != (self._head.epoch, self._head.updates):
            self._start_over(head, people)
        self._buffer.words.people = people
        if head.version != self.in_use.version:
            published = self._log.published(head.version)
            self.in_use = self._best = published.adapter() if published else Adapter()
        self._head = head

    def _start_over(self, head: Head, people: People) -> None:
        self.forget()
        self._buffer.words.people = people
        checkpoint = self._log.checkpoint()
        if checkpoint:
            self._state = State.unpack(checkpoint)
        for evidence in self._log.evidence():
            self._buffer.add_evidence(evidence)
        for lesson in self._log.all_lessons():
            if lesson.number <= head.checkpoint_at:
                self._buffer.add(lesson, self._log.slot(lesson.number))
            else:
                self.take_in(lesson, [])
        while self._state.steps < head.steps:  # those that were made for evidence
            self._step([], self._drawn())

    def take_in(self, lesson: StoredLesson | None, evidence: Sequence[Evidence]) -> int:
        """Make a step on what is new and on some of what was before, or hold it out; returns how many words were new.

        Who says again what they said of a memory changes their word, and no step is made for it.
        """
        last = {word.key: word for word in evidence}
        fresh = [word for key, word in last.items() if not self._buffer.has_evidence(key)]
        earlier = self._drawn()
        for word in last.values():
            self._buffer.add_evidence(word)
        if lesson:
            self._buffer.add(lesson, self._log.slot(lesson.number))
        # The others may prove somebody, and teach nothing.
        heavy = [word for word in fresh if word.weight >= LEAST_WEIGHT]
        said = (example_of(word) for word in heavy if not is_held_out_evidence(word))
        taught = [*filter(self._buffer.counts, said)]
        if lesson and not is_held_out(lesson.number):
            taught.append(lesson.example())
        if taught:
            self._step(taught, earlier)
        return len(heavy)

    def _drawn(self) -> Drawn:
        return self._buffer.draw(f"{self._log.pool} {self.steps}")

    def _step(self, taught: Sequence[Example], earlier: Drawn) -> None:
        if examples := [*taught, *self._buffer.replayed(earlier)]:
            self._state = step(self._state, examples, self._buffer.words)
        else:  # there is nothing left of what the step was made on
            self._state = replace(self._state, steps=np.asarray(self._state.steps + 1))

    def _judge(self, lesson: Taught) -> LessonChange:
        # 1. Make one step on the lesson and on the evidence that waits.
        counted, record, stored = self._head.counted, lesson.record, None
        evidence = self._log.waiting(AT_ONCE)
        if lesson.labels is not None:
            counted += 1
            stored = StoredLesson.of(counted, lesson.task, lesson.labels, record.weight)
        words = self.take_in(stored, list(evidence.values()))

        # 2. Compare it with the best version; what was only held out changes nothing.
        if stored is not None and is_held_out(counted) and not words:
            verdict = {"outcome": "held out", "reason": "one lesson in ten is never trained on"}
            record = record.model_copy(update=verdict | {"evidence": words})
        elif stored or words:
            record = record.model_copy(update=self._verdict() | {"evidence": words})

        # 3. Say all that is to be written.
        learnt, published = self.learnt, None
        if record.version is not None:
            accuracies = record.model_dump(include={"accuracy_before", "accuracy_after"})
            published = learnt.published(record.version, self._log.encoder, lessons=counted, **accuracies)
        update = Update(at=time.time(), memory_id=lesson.task.memory_id, counted=counted, lesson=record)
        due = (self._head.updates + 1) % CHECKPOINT_EVERY == 0
        checkpoint = self._state.pack() if due else None
        standings = judged(learnt.standings, self._buffer.said, self._buffer.words.people)
        return LessonChange(update, standings, stored, evidence, checkpoint, self.steps, published)

    def _verdict(self) -> dict[str, object]:
        """Effect of a step on the retriever: a new version, unless the held-out examples are ranked worse for sure."""
        compared = self.compare()
        if not compared:
            return {"outcome": "learnt", "reason": NOTHING_YET}
        first, ndcg = compared[0].first, compared[0].ndcg
        learnt: dict[str, object] = {
            "outcome": "learnt",
            "accuracy_before": first.before,
            "accuracy_after": first.after,
            "ndcg_before": ndcg.before,
            "ndcg_after": ndcg.after,
        }
        for comparison, of in zip(compared, ("", " on the older lessons"), strict=False):
            for figure, name in ((comparison.first, "how often what is shown first helps"), (comparison.ndcg, "nDCG")):
                if figure.fell(SURE):
                    fall = f"{name}{of} would fall from {figure.before:.3f} to {figure.after:.3f}"
                    stays = f"more than twice its error of {figure.error:.3f}; version {self._head.version} stays"
                    return learnt | {"reason": f"refused: {fall}, {stays}", "refused": True}
        reason = f"what is shown first helps {first.after:.0%} of the time, before {first.before:.0%}"
        return learnt | {"reason": reason, "version": self._head.issued + 1}

    def compare(self) -> list[RankingComparison]:
        """The best version so far and what is new, on what is held out, and on the older lessons of it alone.

        It is the best and not the last one, as many small losses would else pass one by one. The older two thirds are
        looked at by themselves because labels that are wrong for a while, or made so, are wrong in what is held out
        then, too. Empty while there is too little.
        """
        held_out, outcomes = self._buffer.held_out(), self._buffer.held_out_evidence()
        if len(held_out) < FEWEST_HELD_OUT and len(outcomes) < FEWEST_OUTCOMES:
            return []
        examples = [*held_out, *outcomes]
        older = math.ceil(OLDER * len(held_out))
        known = gains_of(examples), scores(self._best, examples), scores(self.adapter(), examples)
        return [compare(*(of[:count] for of in known)) for count in (len(examples), older) if count]

    def _note_written(self, change: LessonChange) -> None:
        record, counted = change.update.lesson, change.update.counted
        at = self._head.checkpoint_at if change.checkpoint is None else counted
        updates = self._head.updates + 1
        self._head = self._head._replace(counted=counted, checkpoint_at=at, updates=updates, steps=self.steps)
        if record.version is not None:
            self.in_use = self.adapter(record.version)
            self._best = self.in_use if _is_best(record) else self._best
            self._head = self._head._replace(version=record.version, issued=record.version)
        if self._buffer.is_full:
            self.forget()

    def adapter(self, version: int = 0) -> Adapter:
        return self.learnt.adapter(version)

    @property
    def steps(self) -> int:
        """How many steps have led to what it is now."""
        return int(self._state.steps)

    @property
    def learnt(self) -> LearntRetriever:
        return LearntRetriever.of(self._state, self._buffer.words)


def _is_best(published: Lesson) -> bool:
    """True if the published version is, in sum, as good as the best before it, or better."""
    after = (published.accuracy_after or 0.0) + (published.ndcg_after or 0.0)
    return after >= (published.accuracy_before or 0.0) + (published.ndcg_before or 0.0)
