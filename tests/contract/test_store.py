"""One suite over every store: embedded, and on a server."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import pytest

from memshare_broker.errors import BadInput
from memshare_broker.wire.grades import CriterionScore
from memshare_memory.stores import bm25
from memshare_memory.stores.store import Layout, Store, Where, search_one
from tests.support.memories import DIMENSION, LAYOUT, Item, at, prompts, remembered


def _all(store: Store, where: Where = Where()) -> dict[UUID, str | None]:  # noqa: B008
    return {memory.id: memory.prompt for memory in store.page(where, 1000).memories}


def test_an_empty_store_finds_nothing(store: Store) -> None:
    assert search_one(store, Where(), 3, dense=at(0)) == []
    assert store.page(Where(), 3) == ([], None)
    assert store.count(Where()) == {}


def test_what_is_put_comes_back_whole(store: Store) -> None:
    full, vectors = remembered(
        "写一首诗 — “moon”\n",
        agent="poem",
        kind="limerick",
        submitter="Zoë",
        model="offline",
        score=88.5,
        criteria={"rhyme & form": CriterionScore(low=10, high=12.5, points=20)},
        rubric_version="abc",
        task_id=str(uuid4()),
        parents=(uuid4(), uuid4()),
        status="hidden",
    )
    plain, its_vectors = remembered(None, 90, answer="Water boils at 100 °C.")

    store.put([(full, vectors), (plain, its_vectors)])

    assert store.page(Where(ids=[full.id]), 10).memories == [full]
    assert search_one(store, Where(), 1, dense=at(90))[0].memory == plain


def test_a_memory_put_twice_is_stored_once_and_the_second_counts(store: Store) -> None:
    memory, vectors = remembered("moon")

    store.put([(memory, vectors)])
    store.put([(memory.model_copy(update={"status": "hidden", "agent": "poem"}), vectors)])

    assert store.count(Where()) == {"poem": 1}
    assert store.count(Where(status="active")) == {}
    assert store.page(Where(), 10).memories[0].agent == "poem"


def test_what_is_written_in_place_brings_nothing_back(store: Store) -> None:
    gone, there = remembered("gone", 10), remembered("there", 20)
    store.put([gone, there])
    store.delete([gone[0].id])

    store.put([(one.model_copy(update={"status": "hidden"}), vectors) for one, vectors in (gone, there)], in_place=True)

    assert [(one.prompt, one.status) for one in store.page(Where(), 9).memories] == [("there", "hidden")]
    assert store.count(Where()) == {"poem": 1}


def test_what_people_brought_in_is_told_from_what_tasks_made(store: Store) -> None:
    store.put([remembered("brought in"), remembered("of a task", 20, task_id="t1"), remembered("said", pool="plan")])

    assert set(_all(store, Where(without_task=True)).values()) == {"brought in", "said"}
    assert prompts(search_one(store, Where(without_task=True, pool="poem"), 9, dense=at(0))) == ["brought in"]
    assert store.count(Where(without_task=True)) == {"plan": 1, "poem": 1}


def test_every_condition_holds_in_search_page_and_count(store: Store) -> None:
    parent, other = uuid4(), uuid4()
    wanted = {
        "pool": "logic",
        "status": "hidden",
        "agent": "logic",
        "kind": "pun",
        "submitter": "ann",
        "task_id": "t1",
    }
    store.put([remembered("wanted", 20, parents=(other, parent), **wanted), remembered("other")])

    for where in [Where(**{key: value}) for key, value in wanted.items()] + [  # type: ignore[arg-type]
        Where(parents=[uuid4(), parent]),
        Where(ids=[remembered("wanted", pool="logic")[0].id, uuid4()]),
        Where(parents=[other], **wanted),  # type: ignore[arg-type]
    ]:
        assert prompts(search_one(store, where, 9, dense=at(0))) == ["wanted"], where
        assert prompts(search_one(store, where, 9, sparse=bm25.query("yes"))) == ["wanted"], where
        assert prompts(search_one(store, where, 9, at(0), bm25.query("yes"))) == ["wanted"], where
        assert list(_all(store, where).values()) == ["wanted"], where
        assert store.count(where) == {"logic": 1}, where
    assert store.count(Where(pool="poem", agent="logic")) == {}


def test_a_condition_without_values_is_met_by_nothing(store: Store) -> None:
    store.put([remembered("moon")])

    assert store.count(Where(parents=())) == store.count(Where(ids=())) == {}
    assert search_one(store, Where(ids=()), 3, dense=at(0)) == []


def test_pages_visit_every_memory_once_in_the_order_of_ids(store: Store) -> None:
    items = [remembered(f"memory {i}", i, status="hidden" if i % 5 == 0 else "active") for i in range(300)]
    store.put(items)

    pages = [store.page(Where(status="active"), 70)]
    while (after := pages[-1].after) and len(pages) < 10:
        pages.append(store.page(Where(status="active"), 70, after))

    seen = [memory.id for page in pages for memory in page.memories]
    assert [len(page.memories) for page in pages] == [70, 70, 70, 30]
    assert seen == sorted(memory.id for memory, _ in items if memory.status == "active")


def test_memories_are_counted_by_pool(store: Store) -> None:
    store.put([remembered(f"memory {i}", pool=f"pool-{i % 3}") for i in range(10)])

    assert store.count(Where()) == {"pool-0": 4, "pool-1": 3, "pool-2": 3}
    assert store.count(Where(pool="pool-1")) == {"pool-1": 3}


def test_what_is_deleted_is_gone_and_unknown_ids_are_passed_over(store: Store) -> None:
    gone, kept = remembered("gone"), remembered("kept", 90)
    store.put([gone, kept])

    store.delete([gone[0].id, uuid4()])
    store.delete([])
    store.put([])

    assert _all(store) == {kept[0].id: "kept"}
    assert prompts(search_one(store, Where(), 9, dense=at(0), sparse=bm25.query("gone yes"))) == ["kept"]


def test_eight_threads_that_write_and_read_at_once_lose_nothing(store: Store) -> None:
    def work(thread: int) -> list[Item]:
        mine = [remembered(f"thread {thread} memory {i}", 5 * i, pool=f"pool-{thread}") for i in range(30)]
        for i, item in enumerate(mine):
            store.put([item])
            found = search_one(store, Where(pool=f"pool-{thread}"), 1, dense=at(5 * i), sparse=bm25.query(f"{i}"))
            assert prompts(found) == [item[0].prompt]
            if i % 3 == 2:
                store.delete([mine[i - 1][0].id])
        return [item for i, item in enumerate(mine) if i % 3 != 1]

    with ThreadPoolExecutor(8) as threads:
        kept = [item for items in threads.map(work, range(8)) for item in items]

    assert len(kept) == 160
    assert _all(store) == {memory.id: memory.prompt for memory, _ in kept}
    assert store.count(Where()) == {f"pool-{thread}": 20 for thread in range(8)}


@pytest.mark.parametrize("other", [Layout("other/encoder", DIMENSION), Layout("tests/compass", 8)])
def test_another_encoder_is_refused_by_both_names(opener: Callable[[Layout], Store], other: Layout) -> None:
    opener(LAYOUT).put([remembered("moon")])

    with pytest.raises(BadInput) as refusal:
        opener(other)

    for word in (LAYOUT.encoder, other.encoder, str(DIMENSION), "MEMSHARE_ENCODER"):
        assert word in str(refusal.value)
