"""The reasoning agent's operators for the inventing model: it finds sentences by their words, and infers nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel

from tests.support.inventing_model.words import key, tokens, topics

SENTENCES = 2  # quoted at most
LONGEST = 400  # characters of a sentence that is worth quoting
NEAR, SUPPORTED = 0.5, 0.9  # shares of the question's topics, and of the answer's words, that make an answer hold
QUERY = 12  # words of a search

_BORDER = re.compile(r"(?<=[.!?])[\"'”’)]*\s+|(?<=[。！？])|\n+")


class Known(BaseModel):
    """An item of short-term memory."""

    item: str
    kind: str
    text: str
    source: str = ""


class Failed(BaseModel):
    """An answer that was rejected."""

    answer: str


class Done(BaseModel):
    """A step that was taken."""

    operator: str
    arguments: str


class Planning(BaseModel):
    """The task of the coordinator."""

    question: str
    goal: str
    places: list[str]
    knowledge: list[Known]
    failed: list[Failed]
    done: list[Done]


class PageTask(BaseModel):
    """The task of the browser."""

    looking_for: str
    page: str


class PieceTask(BaseModel):
    """The task of the browser with a piece of a long page."""

    looking_for: str
    piece: str


class Responding(BaseModel):
    """The task of the responder."""

    question: str
    hint: str
    knowledge: list[Known]
    failed: list[Failed]


class Checking(BaseModel):
    """The task of the discriminator."""

    question: str
    answer: str
    knowledge: list[Known]


def plan(task: str) -> dict[str, Any]:
    """Search, read the best source that was not read yet, answer and check; once more after each failure."""
    asked = Planning.model_validate_json(task)
    searched = sum(step.operator == "searcher" for step in asked.done)
    read = [step.arguments for step in asked.done if step.operator == "browser"]
    unread = [one for one in asked.knowledge if one.source and not any(one.source in arguments for arguments in read)]
    ending = [{"operator": "responder", "hint": ""}, {"operator": "discriminator"}]
    if searched == 0 or (len(asked.failed) >= searched and not unread):
        # A second search is led by what the first one brought.
        found = " ".join(one.text for one in asked.knowledge) if searched else ""
        words = dict.fromkeys([*topics(tokens(asked.question)), *topics(tokens(found))])
        query = " ".join([*words][: QUERY * (searched + 1)])[:400].strip() or asked.question[:400]
        steps = [_search(query, asked.places), {"operator": "coordinator", "goal": asked.goal}]
        return {"thought": "Nothing is known that was not tried yet.", "steps": steps}
    if unread and len(read) <= len(asked.failed):
        best = max(unread, key=lambda one: _overlap(asked.question, one.text))
        browse = {"operator": "browser", "source": best.source, "looking_for": asked.question[:400]}
        return {"thought": "The best source is not read yet.", "steps": [browse, *ending]}
    return {"thought": "What is known has to do.", "steps": ending}


def read_page(task: str) -> dict[str, Any]:
    """The sentences of a page that share the most words with what is looked for."""
    asked = PageTask.model_validate_json(task)
    best = _best(asked.looking_for, _sentences(asked.page))
    if not best:
        return {"found": False, "answer": "", "quote": ""}
    return {"found": True, "answer": " ".join(best), "quote": best[0]}


def summarise(task: str) -> dict[str, str]:
    """The same of a piece of a page."""
    asked = PieceTask.model_validate_json(task)
    return {"summary": " ".join(_best(asked.looking_for, _sentences(asked.piece)))}


def respond(task: str) -> dict[str, Any]:
    """The sentences of the knowledge that share the most words with the question and have not failed."""
    asked = Responding.model_validate_json(task)
    failed = " ".join(one.answer for one in asked.failed)
    told = [known for known in asked.knowledge if known.kind != "not there"]
    best = _best(asked.question, [one for known in told for one in _sentences(known.text) if one not in failed])
    used = [known.item for known in told if any(one in known.text for one in best)]
    return {"answer": " ".join(best) or "Nothing that was found answers this.", "used": used}


def check(task: str) -> dict[str, Any]:
    """Whether the knowledge has the answer's words, and the answer the question's topics.

    Each sentence of the answer is shared by the items that have it.
    """
    asked = Checking.model_validate_json(task)
    said, sentences = _keys(asked.answer), _sentences(asked.answer)
    supported = len(said & {word for known in asked.knowledge for word in _keys(known.text)}) / (len(said) or 1)
    near = _overlap(asked.question, asked.answer)
    shares: Counter[str] = Counter()
    for sentence in sentences:
        having = [known.item for known in asked.knowledge if sentence in known.text]
        shares.update({item: 1 / (len(having) * len(sentences)) for item in having})
    return {
        "verified": supported >= SUPPORTED and near >= NEAR,
        "reason": f"{supported:.0%} of its words are in the knowledge, {near:.0%} of the question's topics are in it",
        "shares": [{"item": item, "share": min(1.0, share)} for item, share in shares.items()],
    }


def _search(query: str, places: Sequence[str]) -> dict[str, Any]:
    return {"operator": "searcher", "query": query, "places": list(places)}


def _sentences(text: str) -> list[str]:
    """The whole sentences of a text, each once; headings and the like are none."""
    found = (part.strip() for part in _BORDER.split(text))
    return [part for part in dict.fromkeys(found) if part.endswith((*".!?。！？",)) and len(part) <= LONGEST]


def _keys(text: str) -> set[str]:
    return {key(word) for word in topics(tokens(text))}


def _overlap(question: str, text: str) -> float:
    asked = _keys(question)
    return len(asked & _keys(text)) / (len(asked) or 1)


def _best(question: str, sentences: Iterable[str]) -> list[str]:
    """The sentences nearest to a question, best first; a word counts the more, the fewer sentences have it."""
    words = {one: _keys(one) for one in sentences}
    count = Counter(word for each in words.values() for word in each)
    asked = _keys(question)
    worth = {one: sum(1 / count[word] for word in each & asked) for one, each in words.items()}
    ranked = sorted((one for one in worth if worth[one] > 0), key=lambda one: -worth[one])
    return [one for one in ranked[:SENTENCES] if worth[one] >= worth[ranked[0]] / 2]
