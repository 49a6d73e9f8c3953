"""A store of LangGraph on a pool."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore, PutOp
from langgraph.store.memory import InMemoryStore
from typing_extensions import TypedDict

from memshare import BadInput, Memory
from memshare.integrations.langgraph_store import MemoryStore

LOGIC = ("logic",)


@pytest.fixture
def store(client: Memory) -> MemoryStore:
    return MemoryStore(client)


def test_what_is_put_is_got_changed_and_deleted(store: MemoryStore) -> None:
    store.put(LOGIC, "a", {"likes": "tea", "cups": [1, 2]})
    store.put(LOGIC, "b", {"prompt": "What floats?", "answer": "A buoy."})

    first, second = store.get(LOGIC, "a"), store.get(LOGIC, "b")
    assert first is not None
    assert second is not None
    assert (first.key, first.value, first.namespace) == ("a", {"likes": "tea", "cups": [1, 2]}, LOGIC)
    assert second.value == {"prompt": "What floats?", "answer": "A buoy."}
    store.put(LOGIC, "a", {"likes": "coffee"})
    changed = store.get(LOGIC, "a")
    assert changed is not None
    assert changed.value == {"likes": "coffee"}
    store.delete(LOGIC, "a")
    assert store.get(LOGIC, "a") is None
    assert [one.key for one in store.search(LOGIC)] == ["b"]


def test_a_search_finds_what_agents_learnt_by_its_id(store: MemoryStore, shelf: dict[str, str]) -> None:
    store.put(LOGIC, "b", {"prompt": "What floats?", "answer": "A buoy."})

    found = store.search(LOGIC, query="new lamp by the sea", limit=1)

    assert [(one.key, one.value["answer"]) for one in found] == [(shelf["logic"], "A light.")]
    assert found[0].score is not None
    assert found[0].score > 0.5
    again = store.get(LOGIC, shelf["logic"])
    assert again is not None
    assert again.value == found[0].value
    assert store.get(("poem",), shelf["logic"]) is None
    assert [one.key for one in store.search(LOGIC, query="floats", filter={"answer": "A buoy."})] == ["b"]
    assert store.search(LOGIC, query="floats", filter={"answer": "A cork."}) == []
    assert set(store.list_namespaces()) >= {("logic",), ("poem",)}


def test_what_a_pool_cannot_do_is_refused(store: MemoryStore) -> None:
    store.put(LOGIC, "a", {"prompt": "What floats?", "answer": "A buoy."})

    with pytest.raises(BadInput, match="one memory, with one key"):
        store.put(LOGIC, "b", {"prompt": "What floats?", "answer": "A buoy."})
    with pytest.raises(BadInput, match="namespace of one name"):
        store.get(("logic", "ada"), "a")
    with pytest.raises(BadInput, match="20 items at most"):
        store.search(LOGIC, query="buoy", limit=11, offset=10)
    for value in ({"prompt": "What floats?", "answer": "A buoy."}, {"prompt": "", "answer": "x"}, {"x": object()}):
        store.put(LOGIC, "c", {"v": 1})
        with pytest.raises((BadInput, TypeError)):
            store.put(LOGIC, "c", value)
        kept = store.get(LOGIC, "c")
        assert kept is not None
        assert kept.value == {"v": 1}
    for call in (store.get, store.delete, lambda pool, key: store.put(pool, key, {"v": 1})):
        with pytest.raises(BadInput, match="a key"):
            call(LOGIC, "")
    with pytest.raises(BadInput, match="values that are equal"):
        store.search(LOGIC, filter={"cups": {"$gt": 1}})
    with pytest.raises(BadInput, match="without levels"):
        store.list_namespaces(prefix=("l",))


def test_items_of_any_pool_are_found_and_come_in_pages(store: MemoryStore) -> None:
    for number in range(130):
        store.put(LOGIC, f"k{number}", {"i": number, "even": number % 2 == 0, "text": f"lamp {number}"})

    for query in (None, "lamp"):
        assert [one.value["i"] for one in store.search(LOGIC, query=query, filter={"i": 24})] == [24]
        assert [one.value["i"] for one in store.search(LOGIC, query=query, filter={"i": 129})] == [129]
        there = 130 if query is None else 20
        pages = [store.search(LOGIC, query=query, limit=10, offset=start) for start in range(0, there, 10)]
        assert [len(one) for one in pages] == [10] * (there // 10)
        assert len({one.key for page in pages for one in page}) == there
        even = store.search(LOGIC, query=query, filter={"even": True}, limit=200)
        assert sorted(one.value["i"] for one in even) == list(range(0, 130, 2))
    assert len(store.search(LOGIC, limit=200)) == 130
    assert [one.key for one in store.search(LOGIC, query="lamp 77", limit=1)] == ["k77"]


@pytest.mark.parametrize("key", ["counts", "search", "a/b", "..", "é", str(UUID(int=0))])
def test_any_text_is_a_key(store: MemoryStore, key: str) -> None:
    assert store.get(LOGIC, key) is None
    store.put(LOGIC, key, {"v": 1})
    store.put(LOGIC, key, {"v": True})

    kept = store.get(LOGIC, key)
    assert kept is not None
    assert kept.value["v"] is True
    store.delete(LOGIC, key)
    assert store.get(LOGIC, key) is None


def test_it_does_what_the_store_in_memory_does(store: MemoryStore) -> None:
    """LangGraph has no suite for stores; this is its own one, without vectors."""
    steps: list[tuple[str, str, dict[str, Any] | None]] = [
        ("logic", "a", {"n": 1, "who": "ada"}),
        ("logic", "b", {"n": 2, "who": "bob", "deep": {"x": [1, None]}}),
        ("logic", "a", {"n": 3, "who": "bob"}),
        ("poem", "a", {"n": 4, "who": "ada"}),
        ("logic", "c", {}),
        ("logic", "b", None),
        ("logic", "none", None),
    ]
    own = InMemoryStore()

    for at, (pool, key, value) in enumerate(steps):
        for one in (store, own):
            one.batch([PutOp((pool,), key, value)])
        for there in ("logic", "poem", "nopool"):
            for asked in (None, {"who": "bob"}, {"n": 3}, {"missing": 1}):
                for query in (None, "", "ada") if there == "nopool" else (None, ""):
                    mine, theirs = (
                        {item.key: item.value for item in one.search((there,), filter=asked, query=query)}
                        for one in (store, own)
                    )
                    assert mine == theirs, (at, there, asked, query)
        got, expected = (
            [(item.namespace, item.key, item.value) for item in (one.get((pool,), name) for name in "abc") if item]
            for one in (store, own)
        )
        assert got == expected


def test_a_graph_takes_it_as_its_store(store: MemoryStore) -> None:
    class State(TypedDict):
        likes: str

    async def node(state: State, *, store: BaseStore) -> dict[str, Any]:
        await store.aput(LOGIC, "likes", {"likes": state["likes"]})
        kept = await store.aget(LOGIC, "likes")
        return {"likes": f"{kept.value['likes']}, kept" if kept else "lost"}

    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    builder.add_edge("node", END)

    end = asyncio.run(builder.compile(store=store).ainvoke({"likes": "tea"}))

    assert end == {"likes": "tea, kept"}


def test_what_a_put_that_was_broken_off_left_behind_is_gone_with_the_next_one(
    store: MemoryStore, client: Memory
) -> None:
    store.put(LOGIC, "a", {"v": 1})
    client.memories.add('{"v": 2}', pool="logic", kind="key a")

    newest = store.get(LOGIC, "a")
    assert newest is not None
    assert newest.value == {"v": 2}
    store.put(LOGIC, "a", {"v": 1})
    assert [one.value for one in store.search(LOGIC)] == [{"v": 1}]
    store.delete(LOGIC, "a")
    assert store.search(LOGIC) == []
