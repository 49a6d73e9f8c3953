"""The door to chat models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from broker.messages import Turn, Usage


class Reply(BaseModel):
    """What a model said, the name it goes by (`openai:gpt-…`, `offline`), and the tokens it took."""

    model_config = ConfigDict(frozen=True)

    text: str
    model: str
    usage: Usage


class Chat(Protocol):
    """A chat model. A call ends within the time it was given, or raises `TryAgain` or `GiveUp`."""

    name: str

    def reply(self, turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> Reply:
        """The next turn of a conversation; with `schema`, JSON text that is meant to fit it.

        Nothing about the text is promised: `llm.structured.ask` validates it.
        """
        ...
