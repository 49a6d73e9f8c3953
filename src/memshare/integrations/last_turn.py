"""The last turn in the messages of any library: what is asked, where memories stand, and what the answer is.

Memories stand behind the history, directly before the last message of the user: a provider's prompt cache holds what
comes before them. An answer stands after that message; it is the last one with a text and without tool calls.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal, TypeVar

from memshare.client.errors import TooLarge
from memshare.client.replies import Accepted
from memshare.client.rest.task import Memory
from memshare_broker.errors import MemshareError, TryAgain, Unreachable
from memshare_broker.wire.messages import EARLIER, FITS, written
from memshare_broker.wire.same_text import is_blank
from memshare_llm.completion import split_reasoning, whole_characters
from memshare_memory.memory import folded


def sharing_functions(memory: Memory, agent: str, k: int = 3) -> list[Callable[..., Any]]:
    """The functions `recall`, `offer` and `feedback`, for the tasks of an agent of the roster.

    What is refused comes back as an `error`, so that the model can mend its call.
    """

    def recall(task: str) -> dict[str, Any]:
        """Find what worked before on tasks like this one; call it before you answer.

        Args:
            task: the task as the user gave it; if it goes on from earlier turns, in words that stand alone
        """

        def found() -> dict[str, Any]:
            recalled = memory.recall(task, agent=agent, k=k)
            some = {"id", "prompt", "answer", "score", "why"}
            memories = [one.model_dump(mode="json", include=some) for one in recalled.memories]
            return {"recall_id": str(recalled.recall_id), "memories": memories}

        return _told(found)

    def offer(task: str, answer: str, recall_id: str | None = None) -> dict[str, Any]:
        """Share your final answer; others are shown it only where it is graded as good.

        Args:
            task: the task as the user gave it; if it goes on from earlier turns, in words that stand alone
            answer: your final answer
            recall_id: what `recall` returned, where you called it
        """
        return _told(lambda: {"journey": memory.pairs(task, answer, agent=agent, recall_id=recall_id).id})

    def feedback(recall_id: str, reward: float) -> dict[str, Any]:
        """Tell how it went once the outcome is known; it decides what is shown from now on. Not on a guess.

        Args:
            recall_id: what `recall` returned
            reward: from 0 (useless or wrong) to 1 (as good as can be)
        """
        return _told(lambda: {"told": len(memory.feedback(reward, recall_id=recall_id).taken)})

    return [recall, offer, feedback]


def _told(call: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return call()
    except MemshareError as error:
        return {"error": str(error)}


Reply = TypeVar("Reply")
By = Literal["user", "assistant", "other"]
Shape = Literal["langchain", "responses", "pydantic-ai"]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ReadMessage:
    """A message; `calls` where it calls tools, and not `whole` where its text is not all of it."""

    by: By
    text: str = ""
    calls: bool = False
    whole: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", "" if is_blank(self.text) else whole_characters(self.text))


@dataclass(frozen=True)
class LastTurn:
    """The last message of the user, with what came before it and after it."""

    at: int
    """Its place among the messages."""
    text: str
    turns: tuple[tuple[str, str], ...]
    """The conversation that ends with it: of each turn the role and the text."""
    answer: str | None
    whole: bool
    """True if these texts are all of the conversation: nobody else sees its pictures."""

    @property
    def asked(self) -> dict[str, Any]:
        """The conversation as a door takes it."""
        if len(self.turns) < 2:
            return {"prompt": self.text}
        return {"messages": [{"role": role, "content": text} for role, text in self.turns]}

    def with_memories(self, messages: Sequence[Any], memories: Sequence[Any]) -> list[Any]:
        """The messages with memories where they belong."""
        return [*messages[: self.at], *memories, *messages[self.at :]]

    def recall(self, ask: Callable[[dict[str, Any]], Reply]) -> Reply | None:
        """The reply of `ask` for it, or for its end if it is too long; None, with a warning, where the door is away."""
        with _unless_away("recalled"):
            try:
                return ask(self.asked) if self.text else None
            except TooLarge:
                end = [(role, text.strip()[:EARLIER]) for role, text in self.turns[-1 - FITS // EARLIER : -1]]
                return ask(replace(self, turns=(*end, self.turns[-1])).asked)
        return None

    def offer(self, memory: Memory, answer: str | None, **about: Any) -> Accepted | None:
        """Offer an answer with its conversation; None where it cannot stand alone, or, with a warning, be taken now."""
        with _unless_away("offered"):
            if answer and self.text and self.whole:
                return memory.pairs(answer=answer, **self.asked, **about)
        return None


@contextmanager
def _unless_away(what: str) -> Iterator[None]:
    try:
        yield
    except (TooLarge, TryAgain, Unreachable) as error:
        log.warning("Nothing was %s: %s", what, error)


def last_turn(messages: Sequence[Any], shape: Shape) -> LastTurn | None:
    """The last turn of the user; None where there is none."""
    said = SHAPES[shape](messages)
    turns, at = [], 0
    for here, one in enumerate(said):
        if one.by == "user":
            turns += [("assistant", last_answer(said[at:here])), ("user", one.text)]
            at = here
    if not turns:
        return None
    return LastTurn(
        at=at,
        text=said[at].text,
        turns=tuple((role, text) for role, text in turns if text),
        answer=last_answer(said[at:]),
        whole=all(one.whole for one in said[: at + 1]),
    )


def last_answer(said: Sequence[ReadMessage]) -> str | None:
    """The last text of a model that calls no tools, without the reasoning before it."""
    texts = (split_reasoning(one.text)[1] for one in reversed(said) if one.by == "assistant" and not one.calls)
    return next((text for text in texts if not is_blank(text)), None)


def whole_task(task: str, messages: Sequence[Any], shape: Shape) -> str:
    """A task that a model names; the whole conversation, where it names no more than the last turn of one."""
    turn = last_turn(messages, shape)
    if turn is None or len(turn.turns) < 2 or folded(task) != folded(turn.text):
        return task
    return written(turn.turns)


def read_responses(items: Sequence[Any]) -> list[ReadMessage]:
    """Items of the Responses API: a message and its tool calls are items of their own."""
    responses = [list(group) for _, group in groupby(map(_item, items), key=lambda one: one.by)]
    return [replace(one, calls=any(one.calls for one in together)) for together in responses for one in together]


def _item(given: Any) -> ReadMessage:
    item: Mapping[str, Any] = given if isinstance(given, Mapping) else given.model_dump()
    kind = item.get("type") or "message"
    if kind == "message":
        by, (text, whole) = ROLES.get(item.get("role", ""), "other"), _text(item.get("content"))
        return ReadMessage(by, text, bool(item.get("tool_calls")), whole or by != "user")
    if kind == "mcp_approval_request" or kind.endswith("_call"):  # the server answers those without a `call_id`
        return ReadMessage("assistant", calls=kind == "mcp_approval_request" or item.get("call_id") is not None)
    # What these two stand for, only the server can read.
    return ReadMessage(
        "assistant" if kind == "reasoning" else "other", whole=kind not in ("compaction", "item_reference")
    )


def _langchain(message: Any) -> ReadMessage:
    by = ROLES.get(getattr(message, "role", message.type), "other")
    calls = [*getattr(message, "tool_calls", ()), *getattr(message, "invalid_tool_calls", ())]
    return ReadMessage(by, str(message.text), bool(calls), by != "user" or _text(message.content)[1])


def _pydantic_ai(message: Any) -> ReadMessage:
    if message.kind == "response":
        return ReadMessage("assistant", message.text or "", bool(message.tool_calls))
    prompts = [_text(part.content) for part in message.parts if part.part_kind == "user-prompt"]
    texts, whole = [text for text, _ in prompts], all(whole for _, whole in prompts)
    return ReadMessage("user" if prompts else "other", "\n".join(texts), whole=whole)


def _text(content: str | Sequence[Any] | None) -> tuple[str, bool]:
    """The text of a message, and whether it has no parts that are none."""
    if isinstance(content, str):
        return content, True
    parts = content or ()
    found = [one.get("text") if isinstance(one, Mapping) else getattr(one, "content", one) for one in parts]
    texts = [one for one in found if isinstance(one, str)]
    return "\n".join(texts), len(texts) == len(found)


ROLES: Mapping[str, By] = {
    "user": "user", "human": "user", "HumanMessageChunk": "user",
    "assistant": "assistant", "ai": "assistant", "AIMessageChunk": "assistant",
}  # fmt: skip
"""Whose a message is, by its role or its type; all others are of the system or of tools."""

SHAPES: Mapping[Shape, Callable[[Sequence[Any]], list[ReadMessage]]] = {
    "langchain": lambda messages: list(map(_langchain, messages)),
    "responses": read_responses,
    "pydantic-ai": lambda messages: list(map(_pydantic_ai, messages)),
}
"""How the messages of each library are read, one for one."""
