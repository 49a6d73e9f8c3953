"""The shared memory in LangGraph: a pair of nodes that share what a graph answers, and a store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from typing_extensions import TypedDict

from memshare.broker.errors import BadInput
from memshare.remote.memory import Memory


class Sharing(TypedDict, total=False):
    """What the nodes keep in a graph's state: let your state have these keys beside `messages`."""

    recalled: list[dict[str, str]]
    """Turns to put before the messages."""
    recall_id: str
    """For feedback, once the outcome is known."""
    journey: str
    """What became of the answer: `memory.journeys.get(journey)`."""


Node = Callable[[Any], Sharing]


def sharing_nodes(
    memory: Memory, agent: str, *, kind: str | None = None, model: str | None = None, k: int = 3
) -> tuple[Node, Node]:
    """Two nodes for a graph whose state has `messages`: one to go through before the model, one after it.

    >>> recall, offer = sharing_nodes(Memory(token="msh_…"), "logic")
    >>> answer = lambda state: {"messages": [model.invoke([*state["recalled"], *state["messages"]])]}
    """

    def recall(state: Any) -> Sharing:
        prompt = _last(state, HumanMessage)
        recalled = memory.recall(prompt, agent=agent, k=k, format="messages")
        turns = [turn.model_dump() for turn in recalled.messages or ()]
        return {"recalled": turns, "recall_id": str(recalled.recall_id)}

    def offer(state: Any) -> Sharing:
        prompt, answer = _last(state, HumanMessage), _last(state, AIMessage)
        pair = memory.pairs(prompt, answer, agent=agent, kind=kind, model=model, recall_id=state.get("recall_id"))
        return {"journey": pair.id}

    return recall, offer


def _last(state: Any, kind: type[BaseMessage]) -> str:
    for message in reversed(state["messages"]):
        if isinstance(message, kind):
            return str(message.text)
    raise BadInput(f"Expected a {kind.__name__} among the 'messages' of the graph's state, found none.")
