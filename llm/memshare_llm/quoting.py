"""How a chat model is asked: our instructions in the system turn, and texts of others as data in one JSON document."""

from __future__ import annotations

import json

from memshare_broker.wire.messages import Turn


def conversation(instructions: str, document: object) -> tuple[Turn, Turn]:
    """The two turns of a question; `document` is what JSON can say, and everything in it is quoted."""
    return (
        Turn(role="system", content=instructions),
        Turn(role="user", content=json.dumps(document, ensure_ascii=False)),
    )


def bounded(text: str, longest: int) -> str:
    """The beginning of a text that is too long to be quoted."""
    return text if len(text) <= longest else f"{text[:longest]} […]"


def quoted_pair(prompt: str | None, answer: str, longest: int) -> dict[str, str | None]:
    """A prompt and its answer as a document has them, each of at most so many characters."""
    return {"prompt": prompt and bounded(prompt, longest), "answer": bounded(answer, longest)}
