"""A LangGraph graph that shares what it answers, without a model."""

from __future__ import annotations

import json
import operator
from typing import Annotated, Any

import pytest
import redis
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from typing_extensions import TypedDict

from memshare import BadInput, Memory
from memshare.integrations.langgraph import SharingState, sharing_nodes
from memshare_broker.delivery.keys import MESSAGES

TASK = "new lamp by the sea"


class Both(SharingState):
    """The state of a graph that reads what the nodes note."""


def graph(memory: Memory, state: type[Any], seen: list[list[str]], saver: InMemorySaver | None = None) -> Any:
    recall, offer = sharing_nodes(memory, "logic", kind="riddle", model="parrot")

    def answer(state: MessagesState) -> dict[str, Any]:
        seen.append([str(one.text) for one in state["messages"]])
        return {"messages": [AIMessage(f"Not {state['messages'][1].text}")]}

    builder = StateGraph(state)
    builder.add_sequence([("recall", recall), ("answer", answer), ("offer", offer)])
    builder.add_edge(START, "recall")
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize("state", [MessagesState, Both])
def test_a_graph_is_shown_memories_and_offers_its_answer(
    client: Memory, shelf: dict[str, str], redis_client: redis.Redis, state: type[Any]
) -> None:
    seen: list[list[str]] = []

    end = graph(client, state, seen).invoke({"messages": [{"role": "user", "content": TASK}]})

    assert [len(texts) for texts in seen] == [3]
    assert seen[0][1:] == ["A light.", TASK]
    assert [one.text for one in end["messages"]] == [TASK, "Not A light."]
    [pair] = [json.loads(text)["body"] for text in redis_client.hvals(MESSAGES)]
    assert (pair["prompt"], pair["answer"], pair["kind"], pair["model"]) == (TASK, "Not A light.", "riddle", "parrot")
    assert [one["id"] for one in pair["shown"]] == [shelf["logic"]]
    if state is Both:
        assert client.journeys.get(end["journey"]).state == "queued"
        assert len(client.feedback(1.0, recall_id=end["recall_id"]).taken) == 1


@pytest.mark.usefixtures("shelf")
def test_a_conversation_that_goes_on_is_shown_the_memories_of_each_turn_alone(client: Memory) -> None:
    seen: list[list[str]] = []
    talk, thread = graph(client, MessagesState, seen, InMemorySaver()), {"configurable": {"thread_id": "1"}}

    for _ in range(2):
        end = talk.invoke({"messages": [{"role": "user", "content": TASK}]}, thread)

    assert [len(texts) for texts in seen] == [3, 5]
    assert [one.text for one in end["messages"]] == [TASK, "Not A light."] * 2


def test_a_state_in_which_memories_cannot_be_shown_is_refused_when_the_graph_is_built(client: Memory) -> None:
    class Joined(TypedDict):
        messages: Annotated[list[Any], operator.add]

    with pytest.raises(ValueError, match="messages"):
        graph(client, Joined, [])


def test_a_state_without_a_task_is_named(client: Memory) -> None:
    recall, _ = sharing_nodes(client, "logic")

    with pytest.raises(BadInput, match="HumanMessage"):
        recall({"messages": [AIMessage("Hello.")]})
