"""What the chat server of a benchmark replies where somebody knows what is right: answers, grades and labels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from benchmarks.support.counts import Tally, kind_of
from memshare.demo.student_server import comparisons, labels
from tests.support.schema_value import schema_value

CONCEPTS = {
    "subjects": ["Text"],
    "topic": "Writing",
    "general_1": ["Language"],
    "general_2": ["Communication"],
    "general_3": ["Culture"],
    "general_4": ["Society"],
}

AGREES = {
    "claims": "Both are about what was asked for, but of other places, times or subjects, so that neither denies what "
    "the other one says.",
    "contradicts": False,
}

Pair = tuple[str, str]
"""A prompt and its answer."""


class Expert(Protocol):
    """Knows what is right."""

    def answer(self, prompt: str, shown: list[Pair]) -> str:
        """The answer of an agent that was shown these memories, the best one first."""

    def points(self, pair: Pair) -> int:
        """The points of an answer, in percent of those of each criterion."""

    def misleads(self, prompt: str, example: Pair) -> int:
        """In percent, how sure it is that an example leads away from the answer."""


class Replies:
    """Replies to requests of the chat interface, and counts calls and tokens by kind."""

    def __init__(self, expert: Expert) -> None:
        self._expert = expert
        self.tally = Tally()

    def reply(self, body: Mapping[str, Any]) -> str:
        """The text of the reply to one request."""
        wanted = (body.get("response_format") or {}).get("json_schema", {}).get("schema")
        turns = [turn["content"] for turn in body["messages"]]
        text = self.text(body, turns, wanted)
        self.tally.count(turns, wanted, text)
        return text

    def text(self, body: Mapping[str, Any], turns: list[str], wanted: Mapping[str, Any] | None) -> str:  # noqa: ARG002
        """The reply to turns, by the schema that is wanted."""
        kind = kind_of(wanted)
        return self._answer(turns) if kind == "answer" else json.dumps(self._judged(kind, turns, wanted or {}))

    def _answer(self, turns: list[str]) -> str:
        """Memories are earlier turns, the best one next to the task, which is the last turn."""
        *shown, asked = turns[1:]
        return self._expert.answer(asked, list(zip(shown[::2], shown[1::2], strict=True))[::-1])

    def _judged(self, kind: str, turns: list[str], wanted: Mapping[str, Any]) -> Any:
        match kind:
            case "grade":
                asked = json.loads(turns[1])
                share = self._expert.points(_pair(asked)) / 100
                return {
                    name: dict.fromkeys(("low", "high"), share * points)
                    for name, (points, _) in asked["criteria"].items()
                }
            case "label":
                return labels(json.loads(turns[1]), self._expert.misleads, AGREES)
            case "compare":
                return comparisons(json.loads(turns[1]), AGREES)
            case "concepts":
                return dict.fromkeys(json.loads(turns[1])["memories"], CONCEPTS)
            case _:
                return schema_value(dict(wanted))


def _pair(document: Mapping[str, str]) -> Pair:
    return document["prompt"], document["answer"]
