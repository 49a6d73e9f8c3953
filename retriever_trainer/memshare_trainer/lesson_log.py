"""The lessons of one retriever, and its versions: all of it in Redis, where any trainer finds it.

A trainer holds the retriever's lease, whose number grows at every change of hands. What a lesson changes is written by
one script, which refuses a trainer once another one has taken a higher number, however long the first was away, and a
lesson that it has seen. So a trainer can be killed at any moment, and no lesson counts twice.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from uuid import UUID

import redis

from memshare_broker import leases
from memshare_broker.errors import TryAgain
from memshare_broker.scripts import Script
from memshare_broker.wire.lessons import Evidence, Lesson
from memshare_memory.belief.bandit import KEEP_FAIR
from memshare_memory.belief.trust import Standings, retriever_key, standings_key, standings_number_key, waiting_key
from memshare_memory.recall.retriever import PublishedAdapter, adapter_key, version_key
from memshare_trainer.lesson import Head, LessonChange, StoredLesson, Update

SECONDS = 10  # after which the lease of a trainer that was killed passes on; a step takes some milliseconds
PATIENCE = 90  # seconds that another one waits

HELD_OUT_EVERY = 10
FEWEST_HELD_OUT = 3  # lessons, without which nothing can be said of a version
FIRST_VERSION = FEWEST_HELD_OUT * HELD_OUT_EVERY  # lessons, before which there is none
RECENT_VERSIONS, EVERY_VERSION, OLDEST_VERSION = 10, 25, 1_000


def is_held_out(number: int) -> bool:
    """True for one lesson in ten, which is never trained on."""
    return number % HELD_OUT_EVERY == 0


def slot_of(number: int, kept: int, seed: str) -> int | None:
    """The slot of a lesson, of `kept` for those that are learnt or a tenth of that for those that are held out.

    None where it is not kept: once all slots are full, as many of the early lessons as of the late ones stay
    (reservoir sampling, algorithm R; Vitter 1985).
    """
    held_out = is_held_out(number)
    before = number // HELD_OUT_EVERY - 1 if held_out else number - number // HELD_OUT_EVERY - 1
    slots = kept // HELD_OUT_EVERY if held_out else kept
    if before < slots:
        return before
    drawn = random.Random(f"{seed} {number}").randrange(before + 1)
    return drawn if drawn < slots else None


def outdated_by(version: int) -> list[int]:
    """Versions that a new version makes too old to keep: the last ten stay, and of those before them every 25th."""
    thinned, oldest = version - RECENT_VERSIONS, version - OLDEST_VERSION
    return [old for old in (thinned if thinned % EVERY_VERSION else 0, oldest) if old > 0]


def lessons_with(log: LessonLog, memories: Collection[UUID], submitter: str | None = None) -> list[int]:
    """The numbers of the kept lessons of these memories, and of those that had one as a candidate; ascending.

    With a `submitter` also those of any memory that is or was theirs.
    """
    gone = set(memories)
    lessons = (*log.all_lessons(), *log.set_aside())
    return sorted(
        lesson.number
        for lesson in lessons
        if submitter in (lesson.by, *lesson.submitters) or gone & {lesson.memory_id, *lesson.labels}
    )


def words_with(log: LessonLog, memories: Collection[UUID], submitter: str | None = None) -> int:
    """How many words of evidence, learnt from or waiting, these memories or this submitter have a part in."""
    return sum(has_part(word, memories, submitter) for word in log.said())


def has_part(evidence: Evidence, memories: Collection[UUID], submitter: str | None = None) -> bool:
    """True if evidence involves one of these memories, shown or as its task's answer; or this submitter has a part."""
    shown = (evidence.memory, *evidence.beside)
    named = {evidence.pair, *(memory.id for memory in shown)}
    return submitter in (evidence.by, *(memory.submitter for memory in shown)) or bool(named & set(memories))


RETRIEVERS = "memshare:retrievers"  # set: JSON of [pool, encoder] of all that have had a lesson

OUTCOMES = ("learnt", "held out", "refused", "no update", "evidence")
UPDATES_KEPT = 2_000
EVIDENCE_KEPT = 2_000  # words of people about memories; beyond that, some go of whom most are kept
COMMIT_LESSON = Script(__file__, "commit_lesson", KEEP_FAIR, updates_kept=UPDATES_KEPT, evidence_kept=EVIDENCE_KEPT)


class LessonLog:
    """The log of one pool and encoder."""

    def __init__(self, client: redis.Redis, pool: str, encoder: str, *, kept: int, keep_days: float) -> None:
        self.pool, self.encoder = pool, encoder
        self.name = pool, encoder
        self.client = client
        self._kept = kept
        self._keep_seconds = int(keep_days * 86_400)

    @contextmanager
    def lease(self) -> Iterator[int]:
        """Be the only trainer of this retriever while the block runs; gives the fencing number.

        Waits for who is, and raises `TryAgain` when that takes too long.
        """
        key = self.key("lease")
        with leases.lease(self.client, key, SECONDS, patience=PATIENCE) as lock:
            if lock is None:
                raise TryAgain(f"Another trainer has held {key!r} for {PATIENCE} s.")
            yield self.client.incr(self.key("fence"))

    def done(self, message_id: str) -> Lesson | None:
        """Result of a message that has been through here already; None for a new message."""
        text = self.client.get(self._marker(message_id))
        return Lesson.model_validate_json(text) if text else None

    def note_labels(self, *, teaches: bool) -> None:
        """Count the calls for labels in a row that taught nothing: the memory service then asks for fewer."""
        if teaches:
            self.client.delete(self.key("in_vain"))
        else:
            self.client.incr(self.key("in_vain"))

    def commit(self, fence: int, message_id: str, change: LessonChange) -> Lesson | None:
        """Write all that a lesson changes in one step; returns the record that stands, or None for a lost lease."""
        record, stored, published = change.update.lesson, change.stored, change.published
        version = published.version if published else 0
        outdated = outdated_by(version)
        done = COMMIT_LESSON(
            self.client,
            fence=self.key("fence"),
            marker=self._marker(message_id),
            state=self.key("state"),
            updates=self.key("updates"),
            kept=self.key(held(stored) if stored else "lessons"),
            retrievers=RETRIEVERS,
            current=version_key(*self.name),
            versions=self.key("versions"),
            blob=adapter_key(*self.name, version),
            waiting=waiting_key(*self.name),
            words=self.key("words"),
            standings=standings_key(*self.name),
            standings_number=standings_number_key(*self.name),
            number=fence,
            record=record.model_dump_json(),
            keep=self._keep_seconds,
            update=change.update.model_dump_json(),
            retriever=json.dumps(self.name),
            slot="" if stored is None or (slot := self.slot(stored.number)) is None else slot,
            lesson=stored.model_dump_json() if stored else "",
            counted=change.update.counted,
            outcome=_counted_as(stored, record),
            steps=change.steps,
            checkpoint=change.checkpoint or "",
            version=version or "",
            adapter=published.model_dump_json() if published else "",
            standing=change.standings.model_dump_json(),
            evidence=[part for text, word in change.evidence.items() for part in (word.key, text)],
            outdated=outdated,
            blobs=[adapter_key(*self.name, old) for old in outdated],
        )
        return Lesson.model_validate_json(done) if done else None

    def head(self) -> Head:
        names = ("epoch", "counted", "issued", "checkpoint_at", "updates", "steps")
        found = dict(zip(names, self.client.hmget(self.key("state"), names), strict=True))
        version = self.client.get(version_key(*self.name))
        return Head(version=int(version or 0), **{name: int(value or 0) for name, value in found.items()})

    def versions(self) -> list[int]:
        """The numbers of the versions that are kept, ascending."""
        return [int(str(version)) for version in self.client.zrange(self.key("versions"), 0, -1)]

    def counts(self) -> dict[str, int]:
        """How many lessons came to what."""
        found = self.client.hmget(self.key("state"), OUTCOMES)
        return {name: int(count or 0) for name, count in zip(OUTCOMES, found, strict=True)}

    def checkpoint(self) -> str:
        """The state that was stored last, as text; empty where learning begins anew."""
        return str(self.client.hget(self.key("state"), "checkpoint") or "")

    def published(self, version: int) -> PublishedAdapter | None:
        """A version that is still kept."""
        text = self.client.get(adapter_key(*self.name, version))
        return PublishedAdapter.model_validate_json(text) if text else None

    def lessons(self) -> list[StoredLesson]:
        """All lessons that may be trained on, the oldest first."""
        return _read(self.client.hvals(self.key("lessons")))

    def held_out(self) -> list[StoredLesson]:
        """The lessons that are never trained on, the oldest first."""
        return _read(self.client.hvals(self.key("held")))

    def all_lessons(self) -> list[StoredLesson]:
        """Both, the oldest first."""
        return sorted([*self.lessons(), *self.held_out()], key=lambda lesson: lesson.number)

    def set_aside(self) -> list[StoredLesson]:
        """The lessons that came after the version in use, where an earlier one was put back; the oldest first."""
        return _read(self.client.hvals(self.key("aside")))

    def evidence(self) -> list[Evidence]:
        """The last word of each person about each memory, as far as they are kept; the oldest first."""
        found = (Evidence.model_validate_json(text) for text in self.client.hvals(self.key("words")))
        return sorted(found, key=lambda word: (word.at, word.key))

    def every_word(self) -> list[Evidence]:
        """All evidence, also what nobody has learnt from yet."""
        return [*self.evidence(), *self.waiting().values()]

    def standings(self) -> Standings:
        text = self.client.get(standings_key(*self.name))
        return Standings.model_validate_json(text) if text else Standings()

    def waiting(self, most: int | None = None) -> dict[str, Evidence]:
        """Evidence that nobody has learnt from yet, by its text; the oldest first."""
        texts = map(str, self.client.hvals(waiting_key(*self.name)))
        found = sorted(_waiting(texts).items(), key=lambda pair: (pair[1].at, pair[1].key))
        return dict(found[:most])

    def drop_waiting(self, goes: Callable[[Evidence], bool]) -> int:
        """Drop what waits and is to go; returns how many words that were. What comes meanwhile is looked at, too."""
        key = waiting_key(*self.name)
        dropped: list[str] = []

        def drop(change: redis.client.Pipeline) -> None:
            dropped[:] = [word.key for word in _waiting(map(str, change.hvals(key))).values() if goes(word)]
            change.multi()
            if dropped:
                change.hdel(key, *dropped)

        self.client.transaction(drop, key)
        return len(dropped)

    def said(self) -> list[Evidence]:
        """The last word of each person about each memory, also what nobody has learnt from yet."""
        return list({word.key: word for word in (*self.evidence(), *self.waiting().values())}.values())

    def updates(self) -> list[Update]:
        """Results of the last lessons, the newest last."""
        return [Update.model_validate_json(text) for text in self.client.lrange(self.key("updates"), 0, -1)]

    def slot(self, number: int) -> int | None:
        """Where a lesson is kept; None for one that is not."""
        return slot_of(number, self._kept, seed=self.pool)

    def _marker(self, message_id: str) -> str:
        return f"memshare:lesson:{message_id}"

    def key(self, what: str) -> str:
        return retriever_key(*self.name, what)


def retrievers(client: redis.Redis, encoder: str) -> list[str]:
    """The pools that have had a lesson with this encoder."""
    names = [json.loads(text) for text in client.smembers(RETRIEVERS)]
    return sorted(pool for pool, of in names if of == encoder)


def _waiting(texts: Iterable[str]) -> dict[str, Evidence]:
    return {text: Evidence.model_validate_json(text) for text in texts}


def _counted_as(stored: StoredLesson | None, record: Lesson) -> str:
    if stored is not None and is_held_out(stored.number):
        return "held out"
    if stored is None and record.evidence:
        return "evidence"
    return "refused" if record.refused else record.outcome


def held(lesson: StoredLesson) -> str:
    """The name of the hash in which a lesson is kept."""
    return "held" if is_held_out(lesson.number) else "lessons"


def _read(texts: Iterable[str | bytes | None]) -> list[StoredLesson]:
    found = [StoredLesson.model_validate_json(text) for text in texts if text]
    return sorted(found, key=lambda lesson: lesson.number)
