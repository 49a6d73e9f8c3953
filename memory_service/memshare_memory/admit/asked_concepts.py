"""Asks for the concepts of memories: by the message that a worker of concepts reads. Light to import."""

from __future__ import annotations

from collections.abc import Iterable

from memshare_broker.delivery.hops import EXTRACT, NextMessage
from memshare_broker.wire.lessons import ExtractTask
from memshare_broker.wire.messages import derived_id
from memshare_memory.memory import Memory, memory_id
from memshare_memory.stores.store import Store, by_ids


def extraction(memory: Memory, journey: str | None = None) -> NextMessage:
    """The message that asks for a memory's concepts, in the journey of the task that made it or in one of its own.

    In its own it is the same message as long as the memory says the same.
    """
    text = str(memory_id(memory.pool, memory.prompt, memory.answer))
    since = f"{memory.created!r} {len(memory.history)}"
    own = journey or str(derived_id("extract", str(memory.id), text, since))
    task = ExtractTask(
        journey=own, pool=memory.pool, memory_id=memory.id, agent=memory.agent or "", submitter=memory.submitter
    )
    return EXTRACT.next(task, own)


def needing(store: Store, memories: Iterable[Memory]) -> list[Memory]:
    """Memories among these, as the store has them now, whose concepts are not known.

    Passages of documents get none by themselves: a long document would be hundreds of calls.
    """
    wanted = [memory.id for memory in memories if not memory.is_passage]
    return [memory for memory in by_ids(store, wanted).values() if not memory.concepts]
