"""A chat model that says what it was told to say, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence

from pydantic import BaseModel

from broker.messages import Turn, Usage
from llm.chat import Reply


class ScriptedChat:
    """Gives its replies one after the other; anything but a text is given as JSON. Each takes 10 + 5 tokens."""

    name = "scripted"

    def __init__(self, *replies: object) -> None:
        self.conversations: list[tuple[Turn, ...]] = []
        self.schemas: list[type[BaseModel] | None] = []
        self._replies = [reply if isinstance(reply, str) else json.dumps(reply) for reply in replies]
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
