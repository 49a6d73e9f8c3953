"""What became of a run's tasks, read from Redis and the store after it, whatever the workers say of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import redis

from memshare.client.client import Client
from memshare_broker.app import lists_of
from memshare_broker.delivery.schema import DEAD, MESSAGES, PARKED, UNACKED, journey_key
from memshare_broker.errors import REFUSALS
from memshare_memory.belief.bandit import Arms
from memshare_memory.encoders.encoder import BUNDLED
from memshare_memory.memory import Memory
from memshare_trainer.lesson_log import LessonLog, retrievers

STAGES = ("answer", "score", "settle", "learn", "extract", "concepts")


@dataclass(frozen=True)
class Count:
    """The figures of one run; `submitted` are the tasks that were accepted."""

    submitted: int
    answered: int
    graded: int
    stored: int
    """Memories in the store that came from a task."""
    dead: dict[str, int]
    """Dead letters by kind."""
    refused: int
    """Dead letters of tasks that the model has refused."""
    lost: int
    """Open messages that wait in no queue and beside none, and that no worker holds."""
    open: int
    unended: int
    """Accepted tasks with neither an answer nor a dead letter."""
    told_failure: int
    """Answered tasks of which Celery's result says that they failed."""
    untold: int
    """Answered tasks of which Celery has no result yet: who waits for one waits until its message comes again."""
    duplicates: int
    """Memories that the store has beside another one of the same task or the same pair."""
    missing: int
    """Memories that a journey says are stored, and that the store does not have."""
    unknown: int
    """Memories that an answer says it was shown, and that the store does not have."""
    miscounted: dict[str, int]
    """Stages whose counter differs from the number of journeys that have been through them, and by how much."""
    lessons: int
    lessons_twice: int
    """Lessons that were counted more than once, or not at all."""
    credits_amiss: int
    """By how much memories' credits differ from the number of settled tasks that were shown them."""
    unnamed: int = 0
    """Memories without concepts, where these are named."""
    named_twice: int = 0
    """Memories whose concepts were written more than once."""
    hostile: int = 0
    """Dead letters of what was no message of the deployment's, or of its clients'."""


def count(
    client: Client, direct: redis.Redis, accepted: Sequence[str], memories: Sequence[Memory], *, concepts: bool = False
) -> Count:
    """Read everything. Call it when nothing moves any more. With `concepts`, these are named."""
    known = {name.removeprefix(journey_key("")) for name in direct.scan_iter(journey_key("*"), count=1000)}
    journeys = {one: client.ledger.journey(one) for one in known | set(accepted)}
    mine = [journeys[one] for one in accepted]
    done = client.ledger.done()
    passed = Counter(stage for journey in journeys.values() for stage in STAGES if stage in journey)
    of_tasks = [memory for memory in memories if memory.task_id]
    there = {str(memory.id) for memory in memories}
    shown = {one["id"] for journey in mine for one in journey.get("answer", {}).get("memories", ())}
    stored = {journey["settle"]["memory_id"] for journey in journeys.values() if _is_stored(journey)}
    letters = [json.loads(text) for text in direct.hvals(DEAD)]
    updates = _updates(direct)
    states = Counter(client.result(one).state for one in accepted if "answer" in journeys[one])
    return Count(
        submitted=len(accepted),
        answered=sum("answer" in journey for journey in mine),
        graded=sum("score" in journey for journey in mine),
        stored=len(of_tasks),
        dead=dict(Counter(letter["kind"] for letter in letters)),
        refused=sum(letter["reason"] in REFUSALS for letter in letters),
        lost=_lost(direct),
        open=sum(client.ledger.open_messages().values()),
        unended=sum("answer" not in journey and "dead" not in journey for journey in mine),
        told_failure=states["FAILURE"],
        untold=sum(states.values()) - states["SUCCESS"] - states["FAILURE"],
        duplicates=_surplus(memory.task_id for memory in of_tasks)
        + _surplus((memory.pool, memory.prompt, memory.answer) for memory in memories),
        missing=len(stored - there),
        unknown=len(shown - there),
        miscounted={
            stage: done.get(stage, 0) - passed[stage] for stage in STAGES if done.get(stage, 0) != passed[stage]
        },
        lessons=len(updates),
        lessons_twice=_surplus(updates) + _counted_amiss(direct),
        credits_amiss=_credits_amiss(direct, journeys.values(), memories),
        unnamed=sum(not memory.concepts for memory in memories) if concepts else 0,
        named_twice=_surplus(
            journey["concepts"]["memory_id"]
            for journey in journeys.values()
            if journey.get("concepts", {}).get("outcome") == "written"
        ),
        hostile=sum(letter["reason"] in ("malformed", "signature") for letter in letters),
    )


def _credits_amiss(direct: redis.Redis, journeys: Iterable[dict[str, Any]], memories: Sequence[Memory]) -> int:
    credited = [
        one for one in journeys if {"answer", "settle"} <= one.keys() and one["settle"].get("outcome") != "not kept"
    ]
    shown = Counter(one["id"] for journey in credited for one in journey["answer"]["memories"])
    arms = Arms(direct)
    return sum(abs(arms.of(one.pool, [one.id])[0].credits - shown[str(one.id)]) for one in memories)


def _is_stored(journey: dict[str, dict[str, object]]) -> bool:
    return journey.get("settle", {}).get("outcome") in ("stored", "replaced")


def _surplus(values: Iterable[object]) -> int:
    counts = Counter(values)
    return sum(counts.values()) - len(counts)


def _logs(direct: redis.Redis) -> list[LessonLog]:
    return [LessonLog(direct, pool, BUNDLED, kept=2_000, keep_days=7) for pool in retrievers(direct, BUNDLED)]


def _updates(direct: redis.Redis) -> list[tuple[str, str]]:
    return [(log.pool, str(update.memory_id)) for log in _logs(direct) for update in log.updates() if update.memory_id]


def _counted_amiss(direct: redis.Redis) -> int:
    """By how much the lessons' counters differ from the lessons of the history."""
    amiss = 0
    for log in _logs(direct):
        updates = log.updates()
        counted = {update.counted for update in updates} - {0}  # evidence alone is no lesson
        amiss += abs(log.head().counted - len(counted)) + abs(sum(log.counts().values()) - len(updates))
    return amiss


def _lost(direct: redis.Redis) -> int:
    open_ids = set(map(str, direct.hkeys(MESSAGES)))
    queues = {json.loads(str(text))["queue"] for text in direct.hvals(MESSAGES)}
    texts = [text for queue in queues for name in lists_of(queue) for text in direct.lrange(name, 0, -1)]
    there = {json.loads(text)["headers"].get("id") for text in texts}
    held = {json.loads(text)[0]["headers"].get("id") for text in direct.hvals(UNACKED)}
    parked = set(map(str, direct.zrange(PARKED, 0, -1)))
    return len(open_ids - there - held - parked)
