"""The shared memory in LangGraph: a pair of nodes that share what a graph answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.messages import AnyMessage, RemoveMessage, convert_to_messages
from langgraph.graph import MessagesState
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from memshare.client.rest.task import Memory
from memshare.integrations.last_turn import last_turn
from memshare_broker.errors import BadInput

SHOWN = "memshare-"  # begins the ids of messages that show a memory


class SharingState(MessagesState, total=False):
    """State of the nodes: `MessagesState`, and two keys for those who want to read them.

    In a thread, a key that does not hold for the turn is None.
    """

    recall_id: str | None
    """For feedback, once the outcome is known."""
    journey: str | None
    """Id for the outcome of the answer, where one was offered: `memory.journeys.get(journey)`."""


Node = Callable[[SharingState], dict[str, Any]]


def sharing_nodes(
    memory: Memory, agent: str, *, kind: str | None = None, model: str | None = None, k: int = 3
) -> tuple[Node, Node]:
    """Two nodes for a graph on `MessagesState`: one before the model, one after it.

    The first puts memories directly before the last message of the user, as earlier turns. The second takes them out,
    and offers what the model answered after that message, with the conversation. Without such an answer nothing is
    offered; nor where the user sent more than text. While the door is away the graph goes on without memories.
    LangGraph raises `ValueError` when the graph is built on `messages` that have another reducer than `add_messages`.

    >>> recall, offer = sharing_nodes(Memory(token="msh_…"), "logic")
    >>> answer = lambda state: {"messages": [model.invoke(state["messages"])]}
    """

    def recall(state: SharingState) -> dict[str, Any]:
        own = _own(state)
        turn = last_turn(own, "langchain")
        if turn is None:
            raise BadInput("Expected a HumanMessage among the 'messages' of the graph's state, found none.")
        recalled = turn.recall(lambda asked: memory.recall(**asked, agent=agent, k=k, format="messages"))
        found = (recalled and recalled.messages) or ()
        shown = convert_to_messages([one.model_dump() | {"id": f"{SHOWN}{at}"} for at, one in enumerate(found)])
        messages = [RemoveMessage(REMOVE_ALL_MESSAGES), *turn.with_memories(own, shown)]
        of_turn = {"recall_id": str(recalled.recall_id)} if recalled else {}
        return {"messages": messages, **_emptied(state, "recall_id", "journey"), **of_turn}

    def offer(state: SharingState) -> dict[str, Any]:
        own = _own(state)
        turn = last_turn(own, "langchain")
        recall_id = state.get("recall_id") if len(own) < len(state["messages"]) else None  # else of an earlier turn
        about = {"agent": agent, "kind": kind, "model": model, "recall_id": recall_id}
        pair = turn and turn.offer(memory, turn.answer, **about)
        of_turn = {"journey": pair.id} if pair else _emptied(state, "journey")
        return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), *own], **of_turn}

    return recall, offer


def _own(state: SharingState) -> list[AnyMessage]:
    """The messages of the graph itself."""
    return [message for message in state["messages"] if not (message.id or "").startswith(SHOWN)]


def _emptied(state: SharingState, *keys: str) -> dict[str, None]:
    """None for each of these keys that has a value of an earlier turn."""
    return {key: None for key in keys if state.get(key)}
