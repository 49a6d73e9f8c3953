"""How the retriever of each pool stands: its versions, its lessons, and how well it ranks what it never learnt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

import redis
from pydantic import ValidationError

from memshare_broker.settings import Settings
from memshare_broker.wire.lessons import Evidence
from memshare_broker.wire.messages import Message
from memshare_memory.belief.lift import Tried, tried
from memshare_memory.belief.trust import Standing, trusted
from memshare_memory.belief.writers import Writer, writers
from memshare_memory.encoders.encoder import BEFORE
from memshare_memory.recall.retriever import Adapter, PublishedAdapter
from memshare_trainer.consolidation.consolidation_state import (
    ConsolidationState,
    count_lessons,
    is_suggested,
    memories,
    next_at,
    read_state,
)
from memshare_trainer.lesson import Example, StoredLesson, Update, compare, gains_of, scores
from memshare_trainer.lesson_log import LessonLog, retrievers
from memshare_trainer.proof import people_of
from memshare_trainer.replay_buffer import ReplayBuffer


class StoredVersion(Message):
    """A version that can be gone back to; the accuracies are of when it was published, 0 to 1."""

    version: int
    lessons: int = 0
    accuracy_before: float | None = None
    accuracy_after: float | None = None


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
    """How likely what is ranked first helps, 0 to 1, in what versions are compared on now; None without any.

    That is what is never trained on: lessons, and outcomes of graded answers and feedback. `error` is the standard
    error of the difference.
    """

    untrained: float | None
    in_use: float | None
    error: float | None = None
    lessons: int
    outcomes: int = 0


class PoolStatus(Message):
    """The retriever of one pool.

    `fault` says why no process can use the version in use, if that is so: they stay with the one before it.
    `labelled_by` counts the kept lessons by how their labels were made, `evidence` the words of graded answers and
    feedback that are kept, `submitters` has what is known of each, and `trusted` names those whom a person trusts.
    `updates` has the newest last. `numbers` says how many memories are shown, and `writers` whose answers help whom.
    """

    version: int
    fault: str | None
    versions: tuple[StoredVersion, ...]
    lessons: LessonCounts
    held_out_accuracy: HeldOutAccuracy
    labelled_by: dict[str, int]
    evidence: int
    submitters: dict[str, Standing]
    trusted: tuple[str, ...] = ()
    updates: tuple[Update, ...]
    numbers: tuple[Tried, ...] = ()
    writers: tuple[Writer, ...] = ()


class ConsolidationStatus(ConsolidationState):
    """Consolidation as it stands: the next one is due at `next_at` lessons, of which there are `lessons_now`.

    A trial is shown while the encoder is in use that it began with. `waits_for` is what starts it: lessons, or
    somebody, where it is due and the pool is too large or none may start by itself.
    """

    lessons_now: int
    next_at: int
    waits_for: Literal["lessons", "the trainer", "somebody"]


class Status(Message):
    """The encoder in use, the one before the last consolidation, and the pools that have had a lesson."""

    encoder: str
    encoder_before: str | None
    consolidation: ConsolidationStatus
    pools: dict[str, PoolStatus]


def read_status(client: redis.Redis, settings: Settings, encoder: str, pool: str | None, updates: int) -> Status:
    """The status of all pools with this encoder, or of one; of each pool's updates the last so many."""
    before = client.get(BEFORE)
    return Status(
        encoder=encoder,
        encoder_before=str(before) if before and before != encoder else None,
        consolidation=_consolidation(client, settings, encoder),
        pools={
            name: _of_pool(
                LessonLog(client, name, encoder, kept=settings.lessons_kept, keep_days=settings.keep_days), updates
            )
            for name in retrievers(client, encoder)
            if pool in (None, name)
        },
    )


def _consolidation(client: redis.Redis, settings: Settings, encoder: str) -> ConsolidationStatus:
    state, lessons = read_state(client), count_lessons(client, encoder)
    by_itself = settings.consolidate and settings.learn and not is_suggested(lessons, state.lessons, memories(client))
    starter: Literal["the trainer", "somebody"] = "the trainer" if by_itself else "somebody"
    trial = state.trial if state.trial and state.trial.encoder == encoder else None
    return ConsolidationStatus(
        **dict(state) | {"trial": trial},
        lessons_now=lessons,
        next_at=next_at(state.lessons),
        waits_for="lessons" if lessons < next_at(state.lessons) else starter,
    )


def _of_pool(log: LessonLog, updates: int) -> PoolStatus:
    head, counts = log.head(), log.counts()
    lessons, evidence = log.all_lessons(), log.evidence()
    counted = counts["learnt"] + counts["held out"] + counts["refused"]
    adapter, fault = _in_use(log, head.version)
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
        held_out_accuracy=_accuracy(adapter, _compared_on(log, lessons, evidence)),
        labelled_by=dict(Counter(lesson.labelled_by for lesson in lessons)),
        evidence=len(evidence),
        submitters=log.standings().submitters,
        trusted=tuple(sorted(trusted(log.client).get(log.pool, ()))),
        updates=tuple(log.updates()[-updates:]),
        numbers=tuple(tried(log.client, log.pool)),
        writers=tuple(writers(log.client, log.pool)),
    )


def _published(log: LessonLog, version: int) -> PublishedAdapter | None:
    try:
        return log.published(version)
    except ValidationError:
        return None


def _in_use(log: LessonLog, version: int) -> tuple[Adapter | None, str | None]:
    """The version in use, or why it cannot be used."""
    if not version:
        return Adapter(), None
    published = _published(log, version)
    if published is None:
        return None, "it is missing, or no adapter"
    if published.encoder != log.encoder:
        return None, f"it was made for the encoder {published.encoder!r}"
    try:
        return published.adapter(), None
    except ValueError as error:
        return None, str(error)


def _compared_on(log: LessonLog, lessons: Iterable[StoredLesson], evidence: Iterable[Evidence]) -> list[Example]:
    """The held-out examples that the learner compares versions on."""
    buffer = ReplayBuffer()
    buffer.words.people = people_of(log.client, log.pool)
    for seen in evidence:
        buffer.add_evidence(seen)
    for lesson in lessons:
        buffer.add(lesson, log.slot(lesson.number))
    return [*buffer.held_out(), *buffer.held_out_evidence()]


def _accuracy(in_use: Adapter | None, examples: Sequence[Example]) -> HeldOutAccuracy:
    if not examples:
        return HeldOutAccuracy(untrained=None, in_use=None, lessons=0)
    first = compare(gains_of(examples), scores(Adapter(), examples), scores(in_use or Adapter(), examples)).first
    after, error = (first.after, first.error) if in_use else (None, None)
    lessons = sum(example.is_lesson for example in examples)
    outcomes = len(examples) - lessons
    return HeldOutAccuracy(untrained=first.before, in_use=after, error=error, lessons=lessons, outcomes=outcomes)


def _kept(version: int, published: PublishedAdapter | None) -> StoredVersion:
    known = published.model_dump(include={"lessons", "accuracy_before", "accuracy_after"}) if published else {}
    return StoredVersion(version=version, **known)
