"""Rewriting the log of a retriever: from its beginning, or back to one of its versions."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from memshare_broker.errors import BadInput, TryAgain
from memshare_broker.wire.lessons import Evidence
from memshare_memory.belief.trust import standings_key, standings_number_key
from memshare_memory.recall.retriever import adapter_key, version_key
from memshare_trainer.lesson import StoredLesson
from memshare_trainer.lesson_log import OUTCOMES, RETRIEVERS, LessonLog, held
from memshare_trainer.proof import LearntRetriever, State, Vouching, judged, people_of


class RolledBack(NamedTuple):
    """The version that was in use, the one that is, and how many lessons were set aside and brought back."""

    before: int
    version: int
    set_aside: int
    brought_back: int


def roll_back(log: LessonLog, to: int | None) -> RolledBack:
    """Put a version into use again, by default the one before the present one; 0 is the untrained retriever.

    Learning goes on from there. The lessons that came after the version are set aside; going forward again brings them
    back. Raises `BadInput` for a version that is not kept.
    """
    with log.lease() as fence:
        head, versions = log.head(), [0, *log.versions()]
        earlier = [version for version in versions if version < head.version]
        if to is None and not earlier:
            raise BadInput(f"The retriever of pool {log.pool!r} has no earlier version: none has been published yet.")
        version = earlier[-1] if to is None else to
        if version not in versions:
            numbers = ", ".join(map(str, versions))
            raise BadInput(f"Pool {log.pool!r} has no retriever version {version}. There are: {numbers}.")
        published = log.published(version)
        checkpoint = ""
        if published:
            state = State.start(published.dimension).knowing(published.worth)
            own = np.array([published.worth[name] for name in state.submitters], np.float32)
            state = replace(state, weights=published.unpack(), worth=own)
            checkpoint = state.pack()
        lessons = published.lessons if published else 0
        if version == head.issued:  # no later version was learnt from the lessons after it
            lessons = head.counted
        set_aside, brought_back = put_back(log, fence, version, lessons, checkpoint)
        return RolledBack(head.version, version, set_aside, brought_back)


def begin_with(
    log: LessonLog,
    lessons: Iterable[StoredLesson],
    evidence: Iterable[Evidence],
    counted: int,
    learnt: LearntRetriever | None,
    *,
    publish: bool = True,
) -> None:
    """Begin the log with lessons and evidence in place of what it had, and `publish` what was learnt from them.

    Evidence that waits goes on waiting.
    """
    words, people = [*evidence], people_of(log.client, log.pool)
    version = log.head().issued + 1 if learnt and publish else 0
    state: dict[Any, Any] = {"counted": counted, "checkpoint_at": 0, "checkpoint": "", "steps": 0}
    if learnt:
        known = {"checkpoint_at": counted, "checkpoint": learnt.state.pack(), "steps": int(learnt.state.steps)}
        state |= known
    if version:
        state["issued"] = version
    old = ("lessons", "held", "aside", "words", "updates", "versions", "standings")
    with log.client.pipeline() as change:
        change.delete(*map(log.key, old), *map(log.key, map(str, log.versions())))
        change.hdel(log.key("state"), *OUTCOMES)
        change.hset(log.key("state"), mapping=state)
        change.hincrby(log.key("state"), "epoch", 1)
        for lesson in lessons:
            change.hset(log.key(held(lesson)), str(log.slot(lesson.number)), lesson.model_dump_json())
        for word in words:
            change.hset(log.key("words"), word.key, word.model_dump_json())
        change.sadd(RETRIEVERS, json.dumps(log.name))
        change.incr(standings_number_key(*log.name))
        if learnt:
            standings = judged(learnt.standings, [Vouching.of(word) for word in words], people)
            change.set(standings_key(*log.name), standings.model_dump_json())
        if learnt and version:
            published = learnt.published(version, log.encoder, lessons=counted)
            change.set(adapter_key(*log.name, version), published.model_dump_json())
            change.zadd(log.key("versions"), {str(version): version})
        change.set(version_key(*log.name), version)
        change.execute()


def put_back(log: LessonLog, fence: int, version: int, lessons: int, checkpoint: str) -> tuple[int, int]:
    """Put a version into use again that was learnt from the first so many lessons.

    Later lessons are set aside, and earlier ones that had been set aside are back; returns how many of each. Every
    trainer begins at the checkpoint.
    """
    present, aside = log.all_lessons(), log.set_aside()
    gone = [lesson for lesson in present if lesson.number > lessons]
    taken = {(held(lesson), log.slot(lesson.number)) for lesson in present if lesson not in gone}
    back = [
        lesson for lesson in aside if lesson.number <= lessons and (held(lesson), log.slot(lesson.number)) not in taken
    ]
    with log.client.pipeline() as change:
        change.watch(log.key("fence"))  # type: ignore[no-untyped-call]
        if change.get(log.key("fence")) != str(fence):
            raise TryAgain(f"A trainer took over the retriever of pool {log.pool!r}. Try again.")
        counted = change.hget(log.key("state"), "counted") or 0
        change.multi()
        change.set(version_key(*log.name), version)
        change.hincrby(log.key("state"), "epoch", 1)
        change.hset(log.key("state"), mapping={"checkpoint": checkpoint, "checkpoint_at": counted, "steps": 0})
        for lesson in gone:
            change.hdel(log.key(held(lesson)), str(log.slot(lesson.number)))
            change.hset(log.key("aside"), str(lesson.number), lesson.model_dump_json())
        for lesson in back:
            change.hset(log.key(held(lesson)), str(log.slot(lesson.number)), lesson.model_dump_json())
            change.hdel(log.key("aside"), str(lesson.number))
        change.execute()
    return len(gone), len(back)
