"""A chat model that says what it was told to say, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence

from pydantic import BaseModel

from memshare_broker.wire.messages import Turn, Usage
from memshare_llm.chat import FirstToken, NoLogprobs, Reply

FirstTokens = Callable[[Sequence[Turn]], Mapping[str, float]]


def no_logprobs(turns: Sequence[Turn]) -> Mapping[str, float]:  # noqa: ARG001
    raise NoLogprobs("scripted does not tell the probabilities of its tokens.")


class ScriptedChat:
    """Gives its replies one after the other; anything but a text is given as JSON. Each takes 10 + 5 tokens.

    `first_tokens` gives the probabilities of a conversation's first tokens, in whatever order threads ask;
    each takes 10 + 1 tokens.
    """

    name = "scripted"

    def __init__(self, *replies: object, first_tokens: FirstTokens = no_logprobs) -> None:
        self.conversations: list[tuple[Turn, ...]] = []
        self.schemas: list[type[BaseModel] | None] = []
        self.asked_for_first_tokens: list[tuple[Turn, ...]] = []
        self._replies = [reply if isinstance(reply, str) else json.dumps(reply) for reply in replies]
        self.first_tokens = first_tokens
        self._lock = threading.Lock()

    def reply(self, turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> Reply:
        with self._lock:
            self.conversations.append(tuple(turns))
            self.schemas.append(schema)
            assert self._replies, f"The script is over, but the model is asked again: {turns[-1].content!r}"
            return Reply(
                text=self._replies.pop(0),
                model=self.name,
                usage=Usage(prompt_tokens=10, completion_tokens=5),
            )

    def first_token(self, turns: Sequence[Turn]) -> FirstToken:
        with self._lock:
            self.asked_for_first_tokens.append(tuple(turns))
        return FirstToken(
            probabilities=dict(self.first_tokens(turns)),
            model=self.name,
            usage=Usage(prompt_tokens=10, completion_tokens=1),
        )
