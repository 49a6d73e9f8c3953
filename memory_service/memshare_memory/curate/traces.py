"""Records in Redis about memories beside the pool: traces, results, dead letters, outcomes and counts of usage."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any
from uuid import UUID

import redis

from memshare_broker.delivery.journey_records import remove_records, unpack
from memshare_llm.limits.usage import forget_submitter
from memshare_memory.belief.trust import forget_trust
from memshare_memory.curate.requests import Purged
from memshare_memory.people import UUID_TEXT, WRONG_ANSWERS, forget_person

RECALLED = "memshare:recalled:"
"""Key of what was recalled at a door: who asked, the task, and the memories that were shown."""


def remove_traces(
    client: redis.Redis, memories: Collection[UUID], tasks: Collection[str], submitter: str | None
) -> Purged:
    """Remove all that tells of these memories, of these tasks, and of every task of a submitter.

    A trace of another task that was shown one of the memories goes whole: it may quote it. Messages that are still
    open are counted and stay, for their tasks are under way.
    """
    wanted = _Wanted({str(one) for one in memories}, set(tasks), submitter)
    removed = remove_records(client, wanted.has)
    recalled = [key for key, record in _recalled(client) if wanted.has("", record)]
    if recalled:
        client.delete(*recalled)
    called_wrong = [field for field, text in client.hgetall(WRONG_ANSWERS).items() if wanted.has("", json.loads(text))]
    if called_wrong:
        client.hdel(WRONG_ANSWERS, *called_wrong)
    if submitter is not None:
        forget_submitter(client, submitter)
        forget_person(client, submitter)
        forget_trust(client, submitter)
    return Purged(memories=tuple(memories), **removed._asdict())


class _Wanted:
    """The memories, the tasks and the submitter that a record is searched for."""

    def __init__(self, memories: set[str], tasks: set[str], submitter: str | None) -> None:
        self.memories = memories
        self.tasks = tasks
        self._submitter = submitter

    def has(self, journey: str, record: Any) -> bool:
        """True if a record of a journey mentions any of them."""
        if journey in self.tasks or (self._submitter is not None and self._submitter in _submitters(record)):
            return True
        return bool(self.memories) and not self.memories.isdisjoint(UUID_TEXT.findall(json.dumps(record)))


def _submitters(value: Any) -> Iterator[str]:
    """Every submitter that a record names, wherever it does."""
    if isinstance(value, dict):
        if isinstance(name := value.get("submitter"), str):
            yield name
        for inner in value.values():
            yield from _submitters(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _submitters(inner)


def _recalled(client: redis.Redis) -> Iterator[tuple[str, Any]]:
    for key in client.scan_iter(RECALLED + "*", count=1000):
        kept = client.execute_command("GET", key, NEVER_DECODE=True)  # type: ignore[no-untyped-call]
        if kept is not None:  # it may have expired meanwhile
            yield str(key), unpack(kept)
