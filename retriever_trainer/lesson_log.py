"""The lessons of one retriever, and its versions: all of it in Redis, where any trainer finds it.

What a lesson changes is written by one script, which refuses a trainer whose lease has passed to another one, and a
lesson that it has seen. So a trainer can be killed at any moment, and no lesson counts twice.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import redis
from numpy.typing import NDArray

from memshare.broker.errors import TryAgain
from memshare.broker.wire.lessons import Lesson
from memshare.memory_service.recall.retriever import PublishedAdapter, adapter_key, retriever_key, version_key
from memshare.retriever_trainer.kept_lesson import KeptLesson
from memshare.retriever_trainer.lease import leased
from memshare.retriever_trainer.reservoir import is_held_out, slot_of
from memshare.retriever_trainer.update import Update

RETRIEVERS = "memshare:retrievers"  # set: JSON of [pool, encoder] of all that have had a lesson

OUTCOMES = ("learnt", "held out", "refused", "no update")
UPDATES_KEPT = 2_000
RECENT_VERSIONS, EVERY_VERSION, OLDEST_VERSION = 10, 25, 1_000


class Head(NamedTuple):
    """Where a retriever's learning stands."""

    epoch: int
    """Grows when the past is changed (a version is put back): what a trainer holds in memory is void then."""
    counted: int
    """Lessons, learnt and held out."""
    issued: int
    """The last version's number; no number is used twice."""
    version: int
    """The version in use."""
    checkpoint_at: int
    """Lessons that had been counted when the state was last stored."""


class Change(NamedTuple):
    """What a lesson changes."""

    update: Update
    kept: KeptLesson | None = None
    checkpoint: str | None = None
    published: PublishedAdapter | None = None


class LessonLog:
    """The log of one pool and encoder."""

    def __init__(self, client: redis.Redis, pool: str, encoder: str, *, kept: int, keep_days: float) -> None:
        self.pool, self.encoder = pool, encoder
        self._client = client
        self._kept = kept
        self._keep_seconds = int(keep_days * 86_400)
        self._commit = client.register_script(_commit_script())

    def lease(self) -> AbstractContextManager[int]:
        """Be the only trainer of this retriever while the block runs; gives the fencing number."""
        return leased(self._client, self._key("lease"), self._key("fence"))

    def done(self, message_id: str) -> Lesson | None:
        """What a message did, if it has been through here already."""
        text = self._client.get(self._marker(message_id))
        return Lesson.model_validate_json(text) if text else None

    def commit(self, fence: int, message_id: str, record: Lesson, counted: int, change: Change) -> Lesson | None:
        """Write all that a lesson changes in one step; returns the record that stands, or None for a lost lease."""
        kept, published = change.kept, change.published
        version = published.version if published else 0
        outdated = _outdated(version)
        done = self._commit(
            keys=[
                self._key("fence"),
                self._marker(message_id),
                self._key("state"),
                self._key("updates"),
                self._key("held" if kept and is_held_out(kept.number) else "lessons"),
                RETRIEVERS,
                version_key(self.pool, self.encoder),
                self._key("versions"),
                adapter_key(self.pool, self.encoder, version),
                *(adapter_key(self.pool, self.encoder, old) for old in outdated),
            ],
            args=[
                fence,
                record.model_dump_json(),
                self._keep_seconds,
                change.update.model_dump_json(),
                json.dumps([self.pool, self.encoder]),
                "" if kept is None or (slot := self.slot(kept.number)) is None else slot,
                kept.model_dump_json() if kept else "",
                counted,
                "refused" if record.refused else record.outcome,
                change.checkpoint or "",
                version or "",
                published.model_dump_json() if published else "",
                *outdated,
            ],
        )
        return Lesson.model_validate_json(done) if done else None

    def head(self) -> Head:
        names = ("epoch", "counted", "issued", "checkpoint_at")
        found = dict(zip(names, self._client.hmget(self._key("state"), names), strict=True))
        version = self._client.get(version_key(self.pool, self.encoder))
        return Head(version=int(version or 0), **{name: int(value or 0) for name, value in found.items()})

    def versions(self) -> list[int]:
        """The numbers of the versions that are kept, ascending."""
        return [int(str(version)) for version in self._client.zrange(self._key("versions"), 0, -1)]

    def counts(self) -> dict[str, int]:
        """How many lessons came to what."""
        found = self._client.hmget(self._key("state"), OUTCOMES)
        return {name: int(count or 0) for name, count in zip(OUTCOMES, found, strict=True)}

    def begin_with(self, lessons: Iterable[KeptLesson], counted: int, adapter: NDArray[np.float32] | None) -> None:
        """Begin the log with lessons of another encoder's, in place of what it had, and publish their adapter."""
        version = 0 if adapter is None else self.head().issued + 1
        state: dict[Any, Any] = {"counted": counted, "checkpoint": "", "checkpoint_at": 0}
        if version:
            state["issued"] = version
        with self._client.pipeline() as change:
            change.delete(self._key("lessons"), self._key("held"), self._key("updates"), self._key("versions"))
            change.hdel(self._key("state"), *OUTCOMES)
            change.hset(self._key("state"), mapping=state)
            change.hincrby(self._key("state"), "epoch", 1)
            for lesson in lessons:
                held = "held" if is_held_out(lesson.number) else "lessons"
                change.hset(self._key(held), str(self.slot(lesson.number)), lesson.model_dump_json())
            change.sadd(RETRIEVERS, json.dumps([self.pool, self.encoder]))
            if adapter is not None:
                published = PublishedAdapter.pack(version, self.encoder, adapter, lessons=counted)
                change.set(adapter_key(self.pool, self.encoder, version), published.model_dump_json())
                change.zadd(self._key("versions"), {str(version): version})
            change.set(version_key(self.pool, self.encoder), version)
            change.execute()

    def go_back(self, fence: int, version: int, set_aside: Sequence[int], checkpoint: str) -> None:
        """Put a version into use again, take lessons out of the log, and let every trainer begin at the checkpoint."""
        slots = {
            held: [str(self.slot(number)) for number in set_aside if is_held_out(number) is held]
            for held in (False, True)
        }
        with self._client.pipeline() as change:
            change.watch(self._key("fence"))  # type: ignore[no-untyped-call]
            if change.get(self._key("fence")) != str(fence):
                raise TryAgain(f"A trainer took over the retriever of pool {self.pool!r}. Try again.")
            counted = change.hget(self._key("state"), "counted") or 0
            change.multi()
            change.set(version_key(self.pool, self.encoder), version)
            change.hincrby(self._key("state"), "epoch", 1)
            change.hset(self._key("state"), mapping={"checkpoint": checkpoint, "checkpoint_at": counted})
            for held, name in ((False, "lessons"), (True, "held")):
                if slots[held]:
                    change.hdel(self._key(name), *slots[held])
            change.execute()

    def checkpoint(self) -> str:
        """The state that was stored last, as text; empty where learning begins anew."""
        return str(self._client.hget(self._key("state"), "checkpoint") or "")

    def published(self, version: int) -> PublishedAdapter | None:
        """A version that is still kept."""
        text = self._client.get(adapter_key(self.pool, self.encoder, version))
        return PublishedAdapter.model_validate_json(text) if text else None

    def lessons(self) -> list[KeptLesson]:
        """All lessons that may be trained on, the oldest first."""
        return _read(self._client.hvals(self._key("lessons")))

    def held_out(self) -> list[KeptLesson]:
        """The lessons that are never trained on, the oldest first."""
        return _read(self._client.hvals(self._key("held")))

    def numbered(self, numbers: Iterable[int]) -> list[KeptLesson]:
        """The lessons of these numbers that are still kept."""
        found: list[KeptLesson] = []
        for number in numbers:
            slot = self.slot(number)
            text = self._client.hget(self._key("held" if is_held_out(number) else "lessons"), str(slot))
            found += [one for one in _read([text]) if one.number == number]
        return found

    def updates(self) -> list[Update]:
        """What the last lessons did, the newest last."""
        return [Update.model_validate_json(text) for text in self._client.lrange(self._key("updates"), 0, -1)]

    def slot(self, number: int) -> int | None:
        """Where a lesson is kept; None for one that is not."""
        return slot_of(number, self._kept, seed=self.pool)

    def _marker(self, message_id: str) -> str:
        return f"memshare:lesson:{message_id}"

    def _key(self, what: str) -> str:
        return retriever_key(self.pool, self.encoder, what)


def retrievers(client: redis.Redis, encoder: str) -> list[str]:
    """The pools that have had a lesson with this encoder."""
    names = [json.loads(text) for text in client.smembers(RETRIEVERS)]
    return sorted(pool for pool, of in names if of == encoder)


@functools.cache
def _commit_script() -> str:
    text = Path(__file__).with_name("commit_lesson.lua").read_text("utf-8")
    return f"local updates_kept = {UPDATES_KEPT}\n{text}"


def _outdated(version: int) -> list[int]:
    """What a new version makes too old to keep: the last ten stay, and of those before them every 25th."""
    thinned, oldest = version - RECENT_VERSIONS, version - OLDEST_VERSION
    return [old for old in (thinned if thinned % EVERY_VERSION else 0, oldest) if old > 0]


def _read(texts: Iterable[str | bytes | None]) -> list[KeptLesson]:
    found = [KeptLesson.model_validate_json(text) for text in texts if text]
    return sorted(found, key=lambda lesson: lesson.number)
