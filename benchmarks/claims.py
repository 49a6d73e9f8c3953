"""Pairs of claims that contradict each other, and chat models that stand in for one which judges them."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel

from memshare.evaluation.data import NO, YES, claim_of
from memshare.files.json_lines import read_lines, read_object
from memshare_broker.errors import BadInput
from memshare_broker.wire.messages import Turn, Usage
from memshare_llm.chat import FirstToken, NoLogprobs, Reply

Judge = Callable[[str, bool], bool]
"""From a claim, and whether it is supported, to the verdict."""

RESPOND = {"operator": "responder", "hint": ""}


class ClaimPair(NamedTuple):
    """A supported and a contradicted claim, and the words that they share: the question."""

    supported: str
    contradicted: str
    question: str


def read_pairs(file: Path) -> list[ClaimPair]:
    """The pairs of a file: of lines with both claims, or of SciFact's claims as they come.

    Of SciFact, a claim that a document supports and one that it contradicts are a pair, those with the most words in
    common first, and each claim is in one pair. The question is what both claims say, in the words of the first. Raises
    `BadInput` where a line is neither, or nothing pairs.
    """
    pairs, said = [], defaultdict[str, dict[str, list[str]]](lambda: {YES: [], NO: []})
    for number, text in read_lines(file):
        line = read_object(text)
        if both := {name: line[name] for name in ("supported", "contradicted") if isinstance(line.get(name), str)}:
            pairs.append((both["supported"], both["contradicted"]))
        elif claim := claim_of(line):
            for document, verdict in claim[1].items():
                said[document][verdict].append(claim[0])
        else:
            raise BadInput(f"{file}:{number}: expected `supported` and `contradicted`, or a claim of SciFact.")
    taken: set[str] = set()
    possible = [pair for one in said.values() for pair in product(one[YES], one[NO])]
    for pair in sorted(possible, key=lambda pair: (-len(_shared(*pair)), pair)):
        if taken.isdisjoint(pair):
            taken.update(pair)
            pairs.append(pair)
    if not pairs:
        raise BadInput(f"{file}: no document supports one claim and contradicts another.")
    return [ClaimPair(*pair, " ".join(_shared(*pair))) for pair in pairs]


def _shared(first: str, second: str) -> list[str]:
    """The words of the first text that stand in the second, too."""
    other = {word.strip(".,").casefold() for word in second.split()}
    return [word for word in first.split() if word.strip(".,").casefold() in other]


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
            where = {"operator": "searcher", "query": asked["question"], "places": ["memory"]}
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
        found = [
            {"pair": int(number), "claims": "Compared.", "contradicts": (texts[one], texts[other]) in self._pairs}
            for number, (one, other) in document["pairs"].items()
        ]
        return Reply(text=json.dumps({"comparisons": found}), model=self.name, usage=Usage())

    def first_token(self, turns: Sequence[Turn]) -> FirstToken:  # noqa: ARG002
        raise NoLogprobs("It has no tokens.")
