"""Calls of a model and their tokens, by kind: what one memory took."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from memshare_broker.wire.messages import Turn
from memshare_llm.chat import Chat, FirstToken, Reply
from memshare_llm.providers.reply_limit import strict_schema

CHARACTERS = 4  # of a token
KINDS = {"right": "grade", "task_1": "label", "comparisons": "compare", "memory_1": "concepts"}
"""What is asked for, by a property of the wanted JSON."""
RANGE = "Marks"  # what every criterion of a rubric is given

Counts = dict[str, dict[str, int]]
"""`calls` and `tokens` of each kind."""


class Tally:
    """Counts calls, and their tokens by the characters of turns, schema and reply."""

    def __init__(self) -> None:
        self.counts: Counts = {kind: {"calls": 0, "tokens": 0} for kind in ("answer", *KINDS.values(), "other")}

    def count(self, turns: Sequence[str], schema: Mapping[str, Any] | None, reply: str) -> None:
        """Count one call."""
        count = self.counts[kind_of(schema)]
        count["calls"] += 1
        count["tokens"] += sum(map(len, (*turns, json.dumps(schema) if schema else "", reply))) // CHARACTERS


class CountedChat:
    """A chat model whose calls are counted."""

    def __init__(self, chat: Chat, tally: Tally) -> None:
        self.name = chat.name
        self._chat = chat
        self._tally = tally

    def reply(self, turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> Reply:
        reply = self._chat.reply(turns, schema)
        self._tally.count([turn.content for turn in turns], strict_schema(schema) if schema else None, reply.text)
        return reply

    def first_token(self, turns: Sequence[Turn]) -> FirstToken:
        return self._chat.first_token(turns)


def kind_of(schema: Mapping[str, Any] | None) -> str:
    """What a request asks for, by the schema of its reply."""
    if schema is None:
        return "answer"
    properties = schema.get("properties", {})
    if RANGE in schema.get("$defs", {}):
        return "grade"
    return next((kind for name, kind in KINDS.items() if name in properties), "other")


def calls_and_tokens(before: Counts, after: Counts, memories: int) -> dict[str, dict[str, float]]:
    """What one memory took in the mean: `calls` and `tokens`, of each kind and of all."""
    return {
        what: {"all": sum(of.values()), **of}
        for what in ("calls", "tokens")
        for of in [{kind: (after[kind][what] - before[kind][what]) / memories for kind in after}]
    }
