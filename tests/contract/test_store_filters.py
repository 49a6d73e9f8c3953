"""Ranges, words and orders: the same in every store, by its indexes."""

from __future__ import annotations

from uuid import UUID, uuid4

from memshare_memory.memory import Memory
from memshare_memory.stores import bm25
from memshare_memory.stores.store import MOST_ORDERED, Order, Store, Where, search_one
from tests.support.memories import at, prompts, remembered

ITEMS = [
    remembered("first lamp", 0, answer="It is red.", created=100.0, score=50, model="openai:qwen3"),
    remembered("second lamp", 10, answer="It is BLUE, and old.", created=200.5, score=90.5, valid_until=7.5),
    remembered("third shoe", 20, answer="春眠不觉晓", created=300.0, score=None),
]
FIRST, SECOND, THIRD = (memory for memory, _ in ITEMS)


def found(store: Store, where: Where) -> set[str | None]:
    """What every way of looking finds."""
    paged = {memory.prompt for memory in store.page(where, 10).memories}
    assert set(prompts(search_one(store, where, 10, dense=at(0)))) == paged
    assert set(prompts(search_one(store, where, 10, at(0), bm25.query("lamp shoe")))) == paged
    assert {memory.prompt for memory in store.page(where, 10, order=Order("created")).memories} == paged
    assert sum(store.count(where).values()) == len(paged)
    return paged


FOUND: list[tuple[Where, list[Memory]]] = [
    (Where(created_from=200.5), [SECOND, THIRD]),
    (Where(created_before=200.5), [FIRST]),
    (Where(created_from=100, created_before=300), [FIRST, SECOND]),
    (Where(score_from=50.5), [SECOND]),
    (Where(score_to=90.5), [FIRST, SECOND]),
    (Where(score_from=50, score_to=50), [FIRST]),
    (Where(score_from=0), [FIRST, SECOND]),
    (Where(words=["blue"]), [SECOND]),
    (Where(words=["LAMP", "it"]), [FIRST, SECOND]),
    (Where(words=["old lamp"]), [SECOND]),
    (Where(words=["lam"]), []),
    (Where(words=["春眠"]), [THIRD]),
    (Where(words=["眠"]), [THIRD]),
    (Where(words=["lamp", "shoe"]), []),
    (Where(model="openai:qwen3"), [FIRST]),
    (Where(model="openai:qwen"), []),
    (Where(ids_not=[SECOND.id, uuid4()]), [FIRST, THIRD]),
    (Where(credibility_from=1, credibility_to=1), [FIRST, SECOND, THIRD]),
    (Where(credibility_to=0.99), []),
    (Where(valid_to=7.5), [SECOND]),
    (Where(valid_to=7), []),
    (Where(pools=("logic", "poem"), words=["shoe"]), [THIRD]),
    (Where(pools=("logic",)), []),
    (Where(pool="poem", score_from=10, words=["red"], created_before=1_000), [FIRST]),
]


def test_memories_are_found_by_ranges_and_words(store: Store) -> None:
    store.put(ITEMS)

    for where, expected in FOUND:
        assert found(store, where) == {memory.prompt for memory in expected}, where


SORTED: list[tuple[Order, list[Memory]]] = [
    (Order("created"), [THIRD, SECOND, FIRST]),
    (Order("created", ascending=True), [FIRST, SECOND, THIRD]),
    (Order("score"), [SECOND, FIRST, THIRD]),
    (Order("score", ascending=True), [THIRD, FIRST, SECOND]),
    (Order("credibility"), [SECOND, FIRST, THIRD]),
    (Order("credibility", ascending=True), [THIRD, FIRST, SECOND]),
]


def test_memories_are_sorted(store: Store) -> None:
    store.put(ITEMS)
    store.note_credibility({SECOND.id: 1.25, THIRD.id: 0.4, uuid4(): 9.0})

    for order, expected in SORTED:
        assert store.page(Where(), 10, order=order).memories == expected, order
        assert store.page(Where(), 2, order=order) == (expected[:2], None)
        lamps = [one for one in expected if one != THIRD]
        assert store.page(Where(words=["lamp"]), 10, order=order).memories == lamps


def test_what_was_noted_of_a_memory_stays_when_it_is_written_again(store: Store) -> None:
    store.put(ITEMS)
    store.note_credibility({FIRST.id: 0.3})

    store.put([(FIRST.model_copy(update={"status": "hidden"}), ITEMS[0][1])])

    assert ids(store, Where(credibility_to=0.5)) == {FIRST.id}
    store.note_credibility({FIRST.id: 1.1})
    assert ids(store, Where(credibility_to=0.5)) == set()
    assert sum(store.count(Where()).values()) == 3, "what is noted of unknown ids makes no memory"


def ids(store: Store, where: Where) -> set[UUID]:
    return {memory.id for memory in store.page(where, 10).memories}


def test_an_order_is_the_same_each_time_also_where_all_are_alike(store: Store) -> None:
    alike = [remembered(f"lamp {number}", number, score=50) for number in range(7)]
    store.put(alike)

    for order in (Order("score"), Order("credibility", ascending=True)):
        ids = store.order_ids(Where(), order, MOST_ORDERED)
        assert ids == store.order_ids(Where(), order, MOST_ORDERED)
        assert set(ids) == {one.id for one, _ in alike}


def test_memories_are_counted_by_their_fields(store: Store) -> None:
    store.put(ITEMS)

    assert store.count(Where(), "model") == {"openai:qwen3": 1}
    assert store.count(Where(score_from=60), "submitter") == {SECOND.submitter: 1}
    assert store.count(Where(words=["春眠"]), "status") == {"active": 1}
