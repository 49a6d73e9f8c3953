"""Learning a whole log again: for an encoder whose vectors no adapter has seen, or without what is to be unlearnt.

A retriever becomes by that what it would be, had it never been taught with some memories, or by somebody.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from random import Random
from typing import NamedTuple
from uuid import UUID

from memshare_broker.wire.lessons import Evidence
from memshare_memory.admit.after import EVIDENCE_AT_ONCE
from memshare_memory.admit.crediting import LEAST_WEIGHT
from memshare_trainer.learning.adapter_state import State
from memshare_trainer.learning.proof import LearntRetriever, People, Words, people_of
from memshare_trainer.learning.replay_buffer import EVIDENCE_REPLAYED, REPLAYED, is_held_out_evidence
from memshare_trainer.learning.rewriting import begin_with
from memshare_trainer.learning.step import step
from memshare_trainer.lessons.lesson import Example
from memshare_trainer.lessons.lesson_log import LessonLog, has_part, is_held_out, lessons_with
from memshare_trainer.lessons.stored_lesson import StoredLesson, example_of


def relearn(
    lessons: Sequence[StoredLesson], evidence: Sequence[Evidence], dimension: int, people: People | None = None
) -> LearntRetriever:
    """The retriever learnt by a step for each lesson, in their order, and replay; held-out examples stay held out.

    Where there is more evidence than comes with lessons, it has further steps of its own.
    """
    words, drawn, state = Words(people), Random(0), State.start(dimension)
    heavy = [word for word in evidence if word.weight >= LEAST_WEIGHT]
    said = [example_of(word) for word in heavy]
    for example in (*(lesson.example() for lesson in lessons), *said):
        words.add(example)
    taught = [lesson.example() for lesson in lessons if not is_held_out(lesson.number)]
    usable = [
        example
        for word, example in zip(heavy, said, strict=True)
        if not is_held_out_evidence(word) and words.share(word.by, word.memory.id, word.memory.submitter)
    ]
    for count in range(max(len(taught), len(usable) // EVIDENCE_AT_ONCE)):
        earlier: list[Example] = drawn.sample(taught[:count], min(REPLAYED, len(taught[:count])))
        evidence_now = drawn.sample(usable, min(EVIDENCE_REPLAYED, len(usable)))
        state = step(state, [*taught[count : count + 1], *earlier, *evidence_now], words)
    return LearntRetriever.of(state, words)


class Unlearnt(NamedTuple):
    """How many lessons and words of evidence were dropped, and the version in use before and after."""

    lessons: int
    evidence: int
    before: int
    version: int


def unlearn(log: LessonLog, memories: Collection[UUID], submitter: str | None = None) -> Unlearnt:
    """Learn the whole log again without these memories' lessons and evidence, and drop every version there was.

    With a `submitter` also without what their answers and feedback said. Other evidence that waits goes on waiting.
    Takes some 10 ms a lesson, while other trainers wait.
    """
    with log.lease():
        head, dropped = log.head(), set(lessons_with(log, memories, submitter))
        lessons = log.all_lessons()
        left = [lesson for lesson in lessons if lesson.number not in dropped]
        said = log.evidence()
        kept = [word for word in said if not has_part(word, memories, submitter)]
        taught = [*(lesson.example() for lesson in left[:1]), *(example_of(word) for word in kept[:1])]
        learnt = relearn(left, kept, taught[0].query.size, people_of(log.client, log.pool)) if taught else None
        begin_with(log, left, kept, head.counted, learnt, publish=bool(left and head.version))
        waited = log.drop_waiting(lambda word: has_part(word, memories, submitter))
        return Unlearnt(len(dropped), len(said) - len(kept) + waited, head.version, log.head().version)
