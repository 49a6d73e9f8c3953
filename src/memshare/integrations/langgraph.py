"""The shared memory in LangGraph: a pair of nodes that share what a graph answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, convert_to_messages
from langgraph.graph import MessagesState
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from memshare.client.rest.memory import Memory
from memshare_broker.errors import BadInput

SHOWN = "memshare-"  # begins the ids of messages that show a memory


class SharingState(MessagesState, total=False):
    """What the nodes read and write: `MessagesState`, and two keys for those who want to read them."""

    recall_id: str
    """For feedback, once the outcome is known."""
    journey: str
    """What became of the answer: `memory.journeys.get(journey)`."""


Node = Callable[[SharingState], dict[str, Any]]


def sharing_nodes(
    memory: Memory, agent: str, *, kind: str | None = None, model: str | None = None, k: int = 3
) -> tuple[Node, Node]:
    """Two nodes for a graph on `MessagesState`: one before the model, one after it.

    The first puts memories in front of the messages, as earlier turns; the second takes them out and offers the answer.
    LangGraph raises `ValueError` when the graph is built on `messages` that have another reducer than `add_messages`.

    >>> recall, offer = sharing_nodes(Memory(token="msh_…"), "logic")
    >>> answer = lambda state: {"messages": [model.invoke(state["messages"])]}
    """

    def recall(state: SharingState) -> dict[str, Any]:
        own = _own(state)
        recalled = memory.recall(_last(own, HumanMessage), agent=agent, k=k, format="messages")
        turns = [turn.model_dump() | {"id": f"{SHOWN}{at}"} for at, turn in enumerate(recalled.messages or ())]
        messages = [RemoveMessage(REMOVE_ALL_MESSAGES), *convert_to_messages(turns), *own]
        return {"messages": messages, "recall_id": str(recalled.recall_id)}

    def offer(state: SharingState) -> dict[str, Any]:
        own = _own(state)
        prompt, answer = _last(own, HumanMessage), _last(own, AIMessage)
        pair = memory.pairs(prompt, answer, agent=agent, kind=kind, model=model, recall_id=state.get("recall_id"))
        return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), *own], "journey": pair.id}

    return recall, offer


def _own(state: SharingState) -> list[AnyMessage]:
    """The messages of the graph itself."""
    return [message for message in state["messages"] if not (message.id or "").startswith(SHOWN)]


def _last(messages: list[AnyMessage], kind: type[AIMessage | HumanMessage]) -> str:
    for message in reversed(messages):
        if isinstance(message, kind):
            return str(message.text)
    raise BadInput(f"Expected a {kind.__name__} among the 'messages' of the graph's state, found none.")
