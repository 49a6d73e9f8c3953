"""Memories that cannot be read, as earlier versions may have written them: they break nothing beside them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from memshare_memory.stores import points
from memshare_memory.stores.store import RawPoint, Store, Where, every, search_one
from tests.support.memories import Item, at, remembered

Spoil = Callable[[Store, Item, Any], None]
GOOD, BAD = remembered("red lamp", 10), remembered("broken lamp", 12)


@pytest.fixture
def spoil(monkeypatch: pytest.MonkeyPatch) -> Spoil:
    """Writes a memory with some fields of its point in place of its own; one that is None is left out."""
    written = points.payload

    def put(store: Store, item: Item, fields: dict[str, Any]) -> None:
        changed = written(item[0]) | fields
        with monkeypatch.context() as patch:
            patch.setattr(points, "payload", lambda _: {key: one for key, one in changed.items() if one is not None})
            store.put([item])

    return put


def created(moment: str) -> str:
    """The bad memory with another time, which `json` writes and reads though it is no JSON."""
    return json.dumps(json.loads(BAD[0].model_dump_json()) | {"created": float(moment)})


@pytest.mark.parametrize(
    "text", [created("inf"), created("nan"), created("-1"), "no JSON", "{}", None],
    ids=["infinite", "no number", "before 1970", "no JSON", "no fields", "nothing"],
)  # fmt: skip
def test_a_memory_that_cannot_be_read_is_left_out_and_noted_and_the_others_are_found(
    store: Store, spoil: Spoil, text: str | None
) -> None:
    store.put([GOOD])
    spoil(store, BAD, {points.WHOLE: text})

    assert list(every(store, Where())) == [GOOD[0]]
    assert store.page(Where(ids=[GOOD[0].id, BAD[0].id]), 9).memories == [GOOD[0]]
    assert [hit.memory for hit in search_one(store, Where(pool="poem"), 9, dense=at(12))] == [GOOD[0]]
    assert [hit.memory for hit in search_one(store, Where(pool="poem"), 9, at(12), BAD[1].sparse)] == [GOOD[0]]
    assert set(store.unreadable) == {BAD[0].id}
    assert store.count(Where()) == {"poem": 2}


def test_a_memory_that_cannot_be_read_can_be_removed_and_replaced(store: Store, spoil: Spoil) -> None:
    spoil(store, BAD, {points.WHOLE: "no JSON", "pool": None, "status": None})
    assert list(every(store, Where())) == []

    store.put([BAD])
    assert list(every(store, Where())) == [BAD[0]]

    spoil(store, BAD, {points.WHOLE: None})
    store.delete([BAD[0].id])

    assert store.dense_of([BAD[0].id]) == {}
    assert store.raw(9).points == []
    assert set(store.unreadable) == set()


def test_everything_that_lies_there_comes_raw_in_the_order_of_the_ids(store: Store, spoil: Spoil) -> None:
    items = [remembered(f"lamp {number}", number) for number in range(7)]
    store.put(items)
    spoil(store, BAD, {points.WHOLE: "no JSON"})

    found: list[RawPoint] = []
    page = store.raw(3)
    while page.after is not None:
        assert len(page.points) == 3
        found += page.points
        page = store.raw(3, page.after)
    found += page.points

    dense = {memory.id: vectors.dense for memory, vectors in (*items, BAD)}
    assert [one.id for one in found] == sorted(dense)
    assert all(one.dense == pytest.approx(dense[one.id], abs=1e-6) for one in found)
    assert {one.id: one.payload[points.WHOLE] for one in found} == {
        memory.id: "no JSON" if memory == BAD[0] else memory.model_dump_json() for memory, _ in (*items, BAD)
    }


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, None),
        ({points.WHOLE: created("inf")}, "it is no memory: created: Input should be a finite number"),
        ({points.WHOLE: None}, "it has no text 'memory'"),
        ({points.WHOLE: GOOD[0].model_dump_json()}, f"it says that it is the memory {GOOD[0].id}"),
        ({"pool": "logic"}, "its field 'pool' is 'logic'"),
    ],
)
def test_what_is_wrong_with_a_memory_is_said(
    store: Store, spoil: Spoil, fields: dict[str, Any], said: str | None
) -> None:
    spoil(store, BAD, fields)

    [point] = store.raw(9).points

    found = points.problem(point)
    assert found is None if said is None else found is not None and found.startswith(said)
    assert points.problem(point._replace(dense=at(0) * 3)) == (found or "its vector is damaged")


def test_no_number_makes_a_memory_look_damaged(store: Store) -> None:
    """The engine gives about one number in twenty back with another last bit."""
    numbers = random.Random(7)
    items = [
        (
            remembered(f"lamp {number}")[0].model_copy(
                update={"created": 1_795_000_000 + numbers.random() * 1e6, "score": numbers.random() * 100}
            ),
            remembered(f"lamp {number}")[1],
        )
        for number in range(200)
    ]
    store.put(items)

    assert [points.problem(point) for point in store.raw(1_000).points] == [None] * len(items)
