"""Traces: the records in Redis beside the pool that tell of memories, of tasks and of who gave these."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any
from uuid import UUID

import redis

from memshare_broker.delivery.journey_records import remove_records, unname, unpack
from memshare_llm.limits.usage import forget_submitter
from memshare_memory.belief.trust import forget_trust
from memshare_memory.contradictions import CLAIMS
from memshare_memory.curate.requests import Purged
from memshare_memory.people import RECALLED, UUID_TEXT, WRONG_ANSWERS, forget_person


def remove_traces(
    client: redis.Redis, memories: Collection[UUID], tasks: Collection[str], submitter: str | None
) -> Purged:
    """Remove all that tells of these memories, of these tasks, and of every task of a submitter.

    A trace of another task that was shown one of the memories goes whole: it may quote it. Messages that are still
    open are counted and stay, for their tasks are under way.
    """
    names, of_tasks = {str(memory) for memory in memories}, set(tasks)

    def tells(journey: str, record: Any) -> bool:
        """True if a record of a journey mentions any of them."""
        if journey in of_tasks or (submitter is not None and submitter in _submitters(record)):
            return True
        return bool(names) and not names.isdisjoint(UUID_TEXT.findall(json.dumps(record)))

    removed = remove_records(client, tells)
    if recalled := [key for key, record in _recalled(client) if tells("", record)]:
        client.delete(*recalled)
    for field, text in client.hgetall(WRONG_ANSWERS).items():
        if tells("", said := json.loads(text)):
            client.hdel(WRONG_ANSWERS, field)
        elif submitter is not None and said.get("by") == submitter:
            client.hset(WRONG_ANSWERS, field, json.dumps({name: one for name, one in said.items() if name != "by"}))
    for key in client.scan_iter(CLAIMS + "*", count=1_000):
        claims = client.hgetall(key).items()
        if told := [both for both, text in claims if not names.isdisjoint(UUID_TEXT.findall(f"{both!s} {text!s}"))]:
            client.hdel(key, *told)
    if submitter is not None:
        unname(client, submitter)
        forget_submitter(client, submitter)
        forget_person(client, submitter)
        forget_trust(client, submitter)
    return Purged(memories=tuple(memories), **removed._asdict())


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
        packed = client.execute_command("GET", key, NEVER_DECODE=True)  # type: ignore[no-untyped-call]
        if packed is not None:  # it may have expired meanwhile
            yield str(key), unpack(packed)
