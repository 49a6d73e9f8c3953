"""Pairs of claims that contradict each other, and chat models that stand in for one which judges them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel

from memshare_broker.wire.messages import Turn, Usage
from memshare_llm.chat import FirstToken, NoLogprobs, Reply

Judge = Callable[[str, bool], bool]
"""From a claim, and whether it is supported, to the verdict."""

RESPOND = {"operator": "responder", "hint": ""}
NO_FILTERS = dict.fromkeys(("agent", "kind", "submitter", "since", "until", "words"))


class ClaimPair(NamedTuple):
    """A supported and a contradicted claim, and the words that they share: the question."""

    supported: str
    contradicted: str
    question: str


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


class Answerer:
    """The engine's model for the question of one pair: it answers with the claims that were found, one after another.

    What its discriminator says of a claim is the judge's word.
    """

    name = "answers with claims"

    def __init__(self, pair: ClaimPair, judge: Judge) -> None:
        self._right = {pair.supported: True, pair.contradicted: False}
        self._judge = judge

    def reply(self, turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> Reply:
        asked = json.loads(turns[-1].content)
        text = json.dumps(self._said(asked, schema.__name__ if schema else ""))
        return Reply(text=text, model=self.name, usage=Usage())

    def first_token(self, turns: Sequence[Turn]) -> FirstToken:  # noqa: ARG002
        raise NoLogprobs("It has no tokens.")

    def _said(self, asked: dict[str, Any], wanted: str) -> dict[str, Any]:
        items = {one["text"]: one["item"] for one in asked["knowledge"] if one.get("text") in self._right}
        if wanted == "Plan":
            where = {"operator": "searcher", "query": asked["question"], "places": ["memory"], "filters": NO_FILTERS}
            return {"thought": "-", "steps": [*([] if items else [where]), RESPOND]}
        if wanted == "Response":
            failed = {one["answer"] for one in asked["failed"]}
            claim = next((one for one in items if one not in failed), None)
            return {"answer": claim or "Nothing more is known.", "used": [items[claim]] if claim else []}
        claim = asked["answer"]
        shares = [{"item": items[claim], "share": 1.0}] if claim in items else []
        verified = bool(shares) and self._judge(claim, self._right[claim])
        return {"reason": "-", "verified": verified, "shares": shares}


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
