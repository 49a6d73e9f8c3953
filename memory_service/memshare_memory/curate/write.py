"""Writes memories to the pool as they are: encoded in one call and written in one operation for each batch."""

from __future__ import annotations

from collections.abc import Sequence

import redis

from memshare_memory.admit.seeds import note_seeds
from memshare_memory.memory import Memory
from memshare_memory.pool.pool import Pool
from memshare_memory.stores.pages import by_ids

BATCH = 256  # memories that are encoded in one call and written in one operation


def write(pool: Pool, client: redis.Redis, memories: Sequence[Memory], *, keep_existing: bool = False) -> list[Memory]:
    """Write memories, each in place of one with the same id; with `keep_existing` those stay as they are.

    One that comes without concepts keeps those that the pool has of the same text.
    Returns those that say something which the pool did not have under their ids.
    """
    parts = [memories[start : start + BATCH] for start in range(0, len(memories), BATCH)]
    return [one for part in parts for one in _write(pool, client, part, keep_existing=keep_existing)]


def _write(pool: Pool, client: redis.Redis, batch: Sequence[Memory], *, keep_existing: bool) -> list[Memory]:
    """The texts are encoded before the gate, which alone a closed gate keeps waiting."""
    recall = pool()
    known = by_ids(recall.store, [one.id for one in batch])
    wanted = [
        _with_concepts(memory, known.get(memory.id)) for memory in batch if not (keep_existing and memory.id in known)
    ]
    if wanted:
        vectors = recall.vectors(wanted)
        with pool.writing() as current:
            if current.encoder_name != recall.encoder_name:
                vectors = current.vectors(wanted)
            current.store.put(list(zip(wanted, vectors, strict=True)))
    replaced = [known[memory.id] for memory in wanted if memory.id in known]
    # Those that stood there already may be of an import that was killed before it noted them.
    note_seeds(client, recall.store, there={**known, **{one.id: one for one in wanted}}.values(), gone=replaced)
    said = {one.id: (one.prompt, one.answer) for one in known.values()}
    return [memory for memory in wanted if said.get(memory.id) != (memory.prompt, memory.answer)]


def _with_concepts(memory: Memory, known: Memory | None) -> Memory:
    if memory.concepts or known is None or (known.prompt, known.answer) != (memory.prompt, memory.answer):
        return memory
    return memory.model_copy(update={"concepts": known.concepts})
