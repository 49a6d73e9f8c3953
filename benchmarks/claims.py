"""Pairs of claims that contradict each other, and chat models that stand in for one which judges them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from memshare_broker.wire.messages import Turn, Usage
from memshare_llm.chat import Chat, FirstToken, NoLogprobs, Reply
from memshare_llm.structured import ask

Judge = Callable[[str, bool], bool]
"""From a claim, and whether it is supported, to the verdict."""


class ClaimPair(NamedTuple):
    """A supported and a contradicted claim, and the words that they share: the question."""

    supported: str
    contradicted: str
    question: str


class Verdict(BaseModel):
    """What a model says of a claim."""

    model_config = ConfigDict(extra="forbid")

    reason: str
    right: bool


def read_pairs(file: Path) -> list[ClaimPair]:
    """The pairs of a file; the question is what both claims say, in the words of the first."""
    pairs = []
    for line in file.read_text(encoding="utf-8").splitlines():
        value = json.loads(line)
        other = {word.strip(".,").casefold() for word in value["contradicted"].split()}
        shared = [word for word in value["supported"].split() if word.strip(".,").casefold() in other]
        pairs.append(ClaimPair(value["supported"], value["contradicted"], " ".join(shared)))
    return pairs


def simulated(p: float, seed: int) -> Judge:
    """Right with probability p."""
    chance = random.Random(f"{seed} {p}")
    return lambda _, supported: supported == (chance.random() < p)


def by_model(chat: Chat, claim: str) -> bool:
    """What a chat model says of a claim."""
    turns = (
        Turn(
            role="system", content="The user's turn is a scientific claim. Say why it is right or not, and then which."
        ),
        Turn(role="user", content=json.dumps({"claim": claim})),
    )
    return ask(chat, turns, Verdict).value.right


class KnowsThePairs:
    """Fills the scorer's question about contradictions: claims contradict each other if they are a pair."""

    name = "knows the pairs"

    def __init__(self, pairs: Sequence[ClaimPair]) -> None:
        both = [(one.supported, one.contradicted) for one in pairs]
        self._pairs = {*both, *((other, one) for one, other in both)}

    def reply(self, turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> Reply:  # noqa: ARG002
        document = json.loads(turns[-1].content)
        texts = {name: one["answer"] for name, one in document["texts"].items()}
        found = {
            name: {"claims": "They are compared.", "contradicts": (texts[one], texts[other]) in self._pairs}
            for name, (one, other) in document["pairs"].items()
        }
        return Reply(text=json.dumps(found), model=self.name, usage=Usage())

    def first_token(self, turns: Sequence[Turn]) -> FirstToken:  # noqa: ARG002
        raise NoLogprobs("It has no tokens.")
