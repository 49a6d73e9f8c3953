"""The chat model of a run: no two of its answers are the same, and a share of its calls fails as the run wants."""

from __future__ import annotations

import itertools
import json
import random
import re
import threading
import zlib
from collections.abc import Callable
from typing import Any

from memshare.demo.student_server import comparisons, labels
from memshare_concepts.extraction import Hierarchy
from tests.support.chat_script import Answer

SHARE = 0.2  # of the calls fail while a fault is on
POOR, REFUSED = "make it poor", "say what may not be said"
LIE = "wrong"
CLAIM = re.compile(r"CLAIM=(\w+:\w+)\.")

Fault = Callable[[dict[str, Any]], Answer]


class Model:
    """A script for the chat server.

    It answers every call differently, so that a task that is answered twice gives two memories if both get through.
    An answer to a prompt with `POOR` gets no points, a prompt with `REFUSED` is refused for good. It believes what it
    is shown: a claim in the examples is its answer. Every contradiction of two claims that it is asked about is found.
    """

    def __init__(self, latency: float = 0.0) -> None:
        self.latency = latency
        self.fault: Fault | None = None
        self.failed = 0
        self._chance = random.Random(7)
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def __call__(self, body: dict[str, Any]) -> Answer:
        with self._lock:
            number = next(self._numbers)
            fault = self.fault if self.fault and self._chance.random() < SHARE else None
            self.failed += fault is not None
        return fault(body) if fault else self._well(body, number)

    def _well(self, body: dict[str, Any], number: int) -> Answer:
        if "logprobs" in body:
            return Answer(status=400, text="This model gives no log-probabilities.")
        users = [turn["content"] for turn in body["messages"] if turn["role"] == "user"]
        asked = users[-1]
        if "response_format" not in body:
            if REFUSED in asked:
                return Answer(status=400, text="This prompt is refused.", code="content_policy")
            claims = CLAIM.findall("\n".join(turn["content"] for turn in body["messages"]))
            return Answer(
                text=f"Answer {number}. {claim(*claims[-1].split(':')) if claims else asked}", delay=self.latency
            )
        properties = body["response_format"]["json_schema"]["schema"]["properties"]
        document = json.loads(users[0])  # a later one says what did not fit
        if "memories" in document:
            names = {level: [f"{level} {number}"] for level in Hierarchy.model_fields} | {"topic": f"Topic {number}"}
            return Answer(text=json.dumps(dict.fromkeys(properties, names)), delay=self.latency)
        if "tasks" in document:
            said = labels(document, _misleads, _compared(users[0]))
            for one in said.get("rivals", ()):
                _by_claims(one, document["texts"][str(one["text"])], document["tasks"][one["task"]])
            return Answer(text=json.dumps(said), delay=self.latency)
        if "pairs" in document:
            compared = comparisons(document, _compared(users[0]))
            for one in compared["comparisons"]:
                _by_claims(one, *(document["texts"][text] for text in document["pairs"][str(one["pair"])]))
            return Answer(text=json.dumps(compared), delay=self.latency)
        if POOR in document["prompt"]:
            return Answer(text=json.dumps({name: {"low": 0, "high": 0} for name in properties}), delay=self.latency)
        return Answer(delay=self.latency)


def claim(about: str, value: str) -> str:
    """A sentence that contradicts one with another value about the same thing."""
    return f"CLAIM={about}:{value}."


def _by_claims(verdict: dict[str, Any], *pairs: dict[str, str]) -> None:
    """Where both of two texts claim something about one thing, that decides."""
    mine, theirs = (dict(one.split(":") for one in CLAIM.findall(pair["answer"])) for pair in pairs)
    if both := mine.keys() & theirs.keys():
        verdict["contradicts"] = any(mine[about] != theirs[about] for about in both)


def _misleads(prompt: str, example: tuple[str, str]) -> int:
    """Of a task some examples help and some mislead, and who lies misleads."""
    if LIE in example[1]:
        return 95
    return 90 if zlib.crc32("\n".join((prompt, *example)).encode()) % 2 else 10


def _compared(asked: str) -> dict[str, Any]:
    contradicts = zlib.crc32(asked.encode()) % 8 == 0
    return {"claims": "Both claim something about the same thing.", "contradicts": contradicts}


def overloaded(_body: dict[str, Any]) -> Answer:
    return Answer(status=429, text="Slow down.", headers={"Retry-After": "2"})


def broken(_body: dict[str, Any]) -> Answer:
    return Answer(status=500, text="It broke.")


def hanging(_body: dict[str, Any]) -> Answer:
    """Longer than the model's timeout in a run."""
    return Answer(delay=20)


def cut_off(_body: dict[str, Any]) -> Answer:
    return Answer(text="An answer that breaks off. " * 20, cut=True)


def any_of_them(body: dict[str, Any]) -> Answer:
    """One of the faults, by chance."""
    return random.choice((overloaded, broken, hanging, cut_off, garbage))(body)


def garbage(body: dict[str, Any]) -> Answer:
    """A body that is no JSON; or a good one whose text does not fit the schema that was asked for."""
    if "response_format" in body and len(json.dumps(body)) % 2:
        return Answer(text='{"low": "high"')
    return Answer(raw=b"\x00\xff<html>502 Bad Gateway")
