"""A LangGraph graph that shares what it answers, without a model."""

from __future__ import annotations

import json
from typing import Any

import pytest
import redis
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from memshare import BadInput, Memory
from memshare.broker.delivery.keys import MESSAGES
from memshare.integrations.langgraph import Sharing, sharing_nodes

TASK = "new lamp by the sea"


class State(MessagesState, Sharing):
    """The state of the graph."""


def graph(memory: Memory) -> Any:
    recall, offer = sharing_nodes(memory, "logic", kind="riddle", model="parrot")
    builder = StateGraph(State)
    builder.add_node("recall", recall)
    builder.add_node("answer", lambda state: {"messages": [AIMessage(f"Not {state['recalled'][-1]['content']}")]})
    builder.add_node("offer", offer)
    builder.add_edge(START, "recall")
    builder.add_edge("recall", "answer")
    builder.add_edge("answer", "offer")
    builder.add_edge("offer", END)
    return builder.compile()


def test_a_graph_is_shown_memories_and_offers_its_answer(
    client: Memory, shelf: dict[str, str], redis_client: redis.Redis
) -> None:
    end = graph(client).invoke({"messages": [{"role": "user", "content": TASK}]})

    assert end["messages"][-1].text == "Not A light."
    [pair] = [json.loads(text)["body"] for text in redis_client.hvals(MESSAGES)]
    assert (pair["prompt"], pair["answer"], pair["kind"], pair["model"]) == (TASK, "Not A light.", "riddle", "parrot")
    assert [one["id"] for one in pair["shown"]] == [shelf["logic"]]
    assert client.journeys.get(end["journey"]).state == "queued"
    assert len(client.feedback(1.0, recall_id=end["recall_id"]).taken) == 1


def test_a_state_without_a_task_is_named(client: Memory) -> None:
    recall, _ = sharing_nodes(client, "logic")

    with pytest.raises(BadInput, match="HumanMessage"):
        recall({"messages": [AIMessage("Hello.")]})
