"""State of consolidations: the run in progress, of which there is one at a time, and the outcome of the last run.

The hash `memshare:consolidation` has in `running` the process of the one that runs, or nothing: wait for that to be
empty to wait for its end.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import redis

from memshare_broker.errors import BadInput, MemshareError
from memshare_broker.leases import folder_lease
from memshare_broker.observe.metrics import POOLS
from memshare_broker.steady_thread import steady_thread
from memshare_broker.wire.messages import Message
from memshare_memory.belief.trust import retriever_key
from memshare_trainer.lesson import Figure
from memshare_trainer.lesson_log import retrievers

FIRST_AT = 100  # lessons of all pools together
GROWTH = 1.5
FEWEST_LESSONS = 50  # to train on, beside those held out
MOST_MEMORIES = 20_000  # a larger pool takes long to encode again, so that somebody has to want it


def next_at(last: int) -> int:
    """How many lessons the next consolidation waits for; there were `last` at the last one, 0 where there was none."""
    return max(FIRST_AT, math.ceil(GROWTH * last))


def starts(lessons: int, last: int, memories: int) -> bool:
    """True if it is time for the next consolidation, and it may start by itself."""
    return lessons >= next_at(last) and memories <= MOST_MEMORIES


def is_suggested(lessons: int, last: int, memories: int) -> bool:
    """True if it is time for the next consolidation, and somebody has to start it."""
    return lessons >= next_at(last) and memories > MOST_MEMORIES


def memories(client: redis.Redis) -> int:
    """How many memories all pools have, as the memory service counted them last."""
    return sum(count for pool in json.loads(client.get(POOLS) or "{}").values() for count in pool.values())


class Job(Message):
    """`consolidate`: train on the lessons of a pool, or of all; `try`: only say what that would bring; `back`: use the
    encoder before this one again.

    In the `background` it has a low priority, and ends when its standard input does.
    """

    what: Literal["consolidate", "try", "back"] = "consolidate"
    pool: str | None = None
    background: bool = False


class Consolidated(Message):
    """Result of a consolidation, and the figures of its check, which are None where nothing was trained.

    Of the held-out lessons: how often what is ranked first helps, and nDCG. Of the untouched probe: nDCG. `lessons` and
    answers that were right were trained on, `held_out` lessons only ranked, None in older records.
    """

    encoder_before: str
    encoder: str
    pools: tuple[str, ...]
    lessons: int
    memories: int
    held_out: int | None = None
    first_helps: Figure | None = None
    held_out_ndcg: Figure | None = None
    probe_ndcg: Figure | None = None


class Trial(Message):
    """Result of a consolidation on trial: the check of an encoder that was trained for it, and removed again.

    `lessons` and answers that were right were trained on, `held_out` lessons only ranked. `at` is a Unix time, and
    `seconds` what the trial took.
    """

    at: float
    seconds: float
    encoder: str
    pools: tuple[str, ...]
    lessons: int
    held_out: int
    memories: int
    accepted: bool
    first_helps: Figure
    held_out_ndcg: Figure
    probe_ndcg: Figure


class Worse(MemshareError):
    """The trained encoder failed its check, so nothing was changed."""


class Report(Message):
    """A line that the process of a consolidation writes: its progress, a note to read, or its end."""

    doing: str | None = None
    done: int = 0
    total: int | None = None
    note: str | None = None
    result: Consolidated | None = None
    trial: Trial | None = None
    error: str | None = None
    kind: Literal["bad input", "worse", "other"] = "other"


STATE = "memshare:consolidation"
ALIVE = "memshare:consolidation:alive"  # is there while one runs, and for some seconds after one was killed
INTERVAL, LIFETIME = 5.0, 20  # seconds
COPY = "copy-"  # of an encoder, until it is whole
LEFT_BEHIND = (f"{COPY}*", ".trained-*")


class ConsolidationState(Message):
    """The one that runs, the last one that came to something, and the last trial of one.

    `lessons` is how many there were at the last one; a trial leaves it as it was.
    """

    running: int | None = None
    since: float | None = None
    lessons: int = 0
    outcome: Literal["consolidated", "refused", "failed"] | None = None
    at: float | None = None
    reason: str = ""
    result: Consolidated | None = None
    trial: Trial | None = None


def read_state(client: redis.Redis) -> ConsolidationState:
    """The state; one that was killed runs no more."""
    found = client.hgetall(STATE)
    fields: dict[str, Any] = {name: found[name] for name in ConsolidationState.model_fields if found.get(name)}
    if not client.exists(ALIVE):
        fields.pop("running", None)
    if "running" not in fields:
        fields.pop("since", None)
    results = {name: json.loads(fields[name]) for name in ("result", "trial") if name in fields}
    return ConsolidationState.model_validate(fields | results)


def count_lessons(client: redis.Redis, encoder: str) -> int:
    """The lessons of all pools together, held-out ones included."""
    counted = (client.hget(retriever_key(pool, encoder, "state"), "counted") for pool in retrievers(client, encoder))
    return sum(int(number or 0) for number in counted)


def recorded(client: redis.Redis, lessons: int, work: Callable[[], Consolidated]) -> Consolidated:
    """Do a consolidation's work, and note that it runs and what becomes of it.

    One that failed for another reason than its lessons leaves their number as it was: it is tried again.
    """
    with _running(client):
        try:
            done = work()
        except (Worse, BadInput) as error:
            _note(client, "refused", lessons=lessons, reason=str(error))
            raise
        except MemshareError as error:
            _note(client, "failed", reason=str(error))
            raise
        _note(client, "consolidated", lessons=lessons, result=done.model_dump_json())
        return done


def tried(client: redis.Redis, work: Callable[[], Trial]) -> Trial:
    """Do a trial's work, and note that it runs and what it measured."""
    with _running(client):
        done = work()
        client.hset(STATE, "trial", done.model_dump_json())
        return done


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Be the only one that makes encoders in this folder; what one that was killed has left half-made is removed."""
    with folder_lease(folder, "lock", "Another consolidation runs in {folder}. Wait until it is done."):
        for pattern in LEFT_BEHIND:
            for left in folder.glob(pattern):
                shutil.rmtree(left)
        yield


def clear_killed(client: redis.Redis) -> None:
    """Let nobody wait for one that was killed."""
    if client.hget(STATE, "running") and not client.exists(ALIVE):
        client.hset(STATE, "running", "")


@contextmanager
def _running(client: redis.Redis) -> Iterator[None]:
    over = threading.Event()

    def announce() -> None:
        client.set(ALIVE, os.getpid(), ex=LIFETIME)

    announce()
    client.hset(STATE, mapping={"running": os.getpid(), "since": time.time()})
    thread = steady_thread("memshare-consolidation", announce, over, every=INTERVAL, delay=INTERVAL)
    try:
        yield
    finally:
        over.set()
        thread.join()
        client.hset(STATE, "running", "")
        client.delete(ALIVE)


def _note(client: redis.Redis, outcome: str, **known: str | int) -> None:
    fields: dict[Any, Any] = {"reason": "", "result": "", **known, "outcome": outcome, "at": time.time()}
    client.hset(STATE, mapping=fields)
