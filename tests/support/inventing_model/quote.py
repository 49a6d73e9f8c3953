"""Answers from memories for the inventing model: it gives the answer of the memory whose words are nearest, or none."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from tests.support.inventing_model.words import key, tokens, topics

ENOUGH = 0.6  # share of the question's topics that a memory has to have


class Said(BaseModel):
    """A memory as it is quoted."""

    prompt: str | None
    answer: str


class FromMemories(BaseModel):
    """The task of answering from memories, as `memshare answer` writes it."""

    question: str
    only_memories: bool
    memories: dict[str, Said]


def quote(task: str) -> dict[str, Any]:
    """The nearest memory's answer, or a question for each topic that is missing; `ValidationError` for another task."""
    asked = FromMemories.model_validate_json(task)
    wanted = list(dict.fromkeys(topics(tokens(asked.question)))) or tokens(asked.question)
    shared = {name: _shared(wanted, said) for name, said in asked.memories.items()}
    nearest = max(reversed(shared), key=lambda name: len(shared[name]), default=None)
    if nearest is not None and len(shared[nearest]) >= ENOUGH * len(wanted):
        why = f"It has the words {', '.join(shared[nearest])}."
        cites, said, questions = [{"memory": nearest, "why": why[:500]}], asked.memories[nearest].answer, []
    else:
        known = {key(word) for words in shared.values() for word in words}
        missing = [word for word in wanted if key(word) not in known] or wanted
        cites, said, questions = [], "", [f"What is {word}?"[:300] for word in missing[:5]]
    return {
        "cites": cites,
        "suffices": bool(cites),
        "answer": said,
        "own_knowledge": "",
        "questions": questions,
    }


def _shared(wanted: list[str], said: Said) -> list[str]:
    have = {key(word) for word in tokens(f"{said.prompt or ''} {said.answer}")}
    return [word for word in wanted if key(word) in have]
