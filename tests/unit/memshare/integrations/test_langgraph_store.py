"""A store of LangGraph on a pool."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore
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
        store.search(LOGIC, limit=21)
    with pytest.raises(BadInput, match="values that are equal"):
        store.search(LOGIC, filter={"cups": {"$gt": 1}})
    with pytest.raises(BadInput, match="without levels"):
        store.list_namespaces(prefix=("l",))


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
