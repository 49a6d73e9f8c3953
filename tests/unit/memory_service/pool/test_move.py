from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import UUID

import pytest

from memshare_memory.memory import Memory
from memshare_memory.pool.pool import Move
from memshare_memory.recall.recall import vectors_of
from memshare_memory.stores.edge_store import EdgeStore
from memshare_memory.stores.store import Layout, Page, Store, Where, every, search_one
from tests.support.memories import remembered
from tests.support.word_encoder import WordEncoder


@pytest.fixture
def other() -> WordEncoder:
    return WordEncoder("tests/others")


@pytest.fixture
def target(tmp_path: Path, other: WordEncoder) -> Iterator[Store]:
    with closing(EdgeStore.open(tmp_path / "target", Layout(other.name, other.dimension), "a test")) as edge:
        yield edge


def put(store: Store, encoder: WordEncoder, *memories: Memory) -> None:
    store.put(list(zip(memories, vectors_of(encoder, memories), strict=True)))


def memory(prompt: str, **fields: object) -> Memory:
    return remembered(prompt, **fields)[0]


def pages(store: Store, after: UUID | None) -> Page:
    return store.page(Where(), 7, after)


def test_all_memories_are_written_with_the_vectors_of_the_other_encoder(
    store: Store, encoder: WordEncoder, target: Store, other: WordEncoder
) -> None:
    memories = [memory(f"lamp number{n}", pool=f"pool-{n % 3}", status=("active", "hidden")[n % 2]) for n in range(40)]
    put(store, encoder, *memories)
    seen: list[int] = []

    changed = Move(lambda after: pages(store, after), target, other).catch_up(seen.append)

    assert changed == 40
    assert list(every(target, Where())) == sorted(memories, key=lambda one: one.id)
    assert seen == [7, 14, 21, 28, 35, 40]
    (hit,) = search_one(target, Where(), 1, dense=other.encode(["lamp number11"])[0])
    assert (hit.memory.prompt, hit.similarity) == ("lamp number11", pytest.approx(1))


def test_a_second_pass_writes_only_what_has_changed_since(
    store: Store, encoder: WordEncoder, target: Store, other: WordEncoder
) -> None:
    kept, edited, forgotten = memory("kept"), memory("edited"), memory("forgotten")
    put(store, encoder, kept, edited, forgotten)
    move = Move(lambda after: pages(store, after), target, other)
    move.catch_up(lambda _: None)
    other.encoded.clear()

    store.delete([forgotten.id])
    put(store, encoder, edited.model_copy(update={"prompt": "edited lately"}), memory("new"))

    assert move.catch_up(lambda _: None) == 3
    assert sorted(one.prompt or "" for one in every(target, Where())) == ["edited lately", "kept", "new"]
    assert sorted(other.encoded) == ["edited lately", "new"]
    assert move.catch_up(lambda _: None) == 0


def test_a_move_that_was_killed_goes_on_with_what_it_had_written(
    store: Store, encoder: WordEncoder, target: Store, other: WordEncoder
) -> None:
    put(store, encoder, *(memory(f"lamp number{n}") for n in range(20)))

    def killed(done: int) -> None:
        if done > 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Move(lambda after: pages(store, after), target, other).catch_up(killed)
    written = len(other.encoded)
    assert 10 < written < 20

    Move(lambda after: pages(store, after), target, other).catch_up(lambda _: None)

    assert len(other.encoded) == 20
    assert target.count(Where()) == store.count(Where())


def test_an_empty_pool_is_moved_too(store: Store, target: Store, other: WordEncoder) -> None:
    assert Move(lambda after: pages(store, after), target, other).catch_up(lambda _: None) == 0
