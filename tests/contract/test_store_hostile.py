"""Three thousand memories that nobody would write, in every store: what went in comes out, and no other is found."""

from __future__ import annotations

import random

import numpy as np
import pytest

from memshare_memory.memory import Memory, memory_id
from memshare_memory.stores import bm25
from memshare_memory.stores.store import Store, Vectors, Where, every
from tests.support.memories import DIMENSION

MEMORIES, AT_ONCE = 3_000, 500
PIECES = (
    '{"must": [{"key": "pool", "match": {"value": "logic"}}]}', "' OR 1=1 --", "${jndi:ldap://x}", "../../etc/passwd",
    "\x1b[2J\x9b31m", "\u202egpj.exe\u200b", "[/] [red]", "\n\r\t", "\\u0000", "null", "NaN", "-1e309", "∅ 漢字 ﷽",
    "🏳️‍🌈👩‍👩‍👧",
    "a" * 3_000, "é" * 500, "word " * 200, '"', "\\", "%s%n%x", "<script>", "status=trash", "poem", "\x7f",
)  # fmt: skip


def hostile(chance: random.Random, number: int) -> Memory:
    prompt = "".join(chance.choices(PIECES, k=chance.randint(1, 4))) + str(number)
    answer = "".join(chance.choices(PIECES, k=chance.randint(1, 3))) or "?"
    pool = chance.choice(("poem", "logic"))
    submitter = chance.choice(("ada", "[/] [red]eve", "pool:logic", "*", "null", "bob"))
    return Memory(
        id=memory_id(pool, prompt, answer), pool=pool, prompt=prompt, answer=answer, submitter=submitter,
        created=1.7e9 + number, score=chance.choice((None, 0.0, 100.0)),
    )  # fmt: skip


@pytest.mark.slow
def test_what_went_in_comes_out_and_a_filter_finds_its_own_alone(store: Store) -> None:
    chance, numbers = random.Random(7), np.random.default_rng(7)
    wanted = {memory.id: memory for memory in (hostile(chance, number) for number in range(MEMORIES))}
    memories = list(wanted.values())

    for at in range(0, len(memories), AT_ONCE):
        some = memories[at : at + AT_ONCE]
        dense = numbers.standard_normal((len(some), DIMENSION)).astype(np.float32)
        dense /= np.linalg.norm(dense, axis=1, keepdims=True)
        store.put(
            [
                (memory, Vectors(vector, bm25.document(f"{memory.prompt}\n{memory.answer}")))
                for memory, vector in zip(some, dense, strict=True)
            ]
        )

    found = {memory.id: memory for memory in every(store, Where())}
    assert len(wanted) > 2_900
    assert found == wanted
    by_pool = {pool: sum(memory.pool == pool for memory in memories) for pool in ("poem", "logic")}
    assert store.count(Where()) == by_pool
    for submitter in ("[/] [red]eve", "pool:logic", "*", "null"):
        own = {memory.id for memory in every(store, Where(submitter=submitter))}
        assert own == {memory.id for memory in memories if memory.submitter == submitter}
    gone = [memory.id for memory in memories if memory.pool == "logic"]
    store.delete(gone)
    assert store.count(Where()) == {"poem": by_pool["poem"]}
