"""Names concepts for the inventing model: the words that a text has most often, under names that fit any text."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pydantic import BaseModel

from tests.support.inventing_model.words import is_chinese, key, tokens, topics

SUBJECTS = 8
SHORTEST = 4  # letters of a subject, where there are such
LONGEST = 40


class Text(BaseModel):
    """A text as it is quoted; its concepts stand only beside an example."""

    prompt: str | None
    answer: str
    concepts: dict[str, Any] = {}


class Described(BaseModel):
    """The task of naming concepts, as the concept worker writes it."""

    memories: dict[str, Text]
    examples: list[Text]


def name_concepts(task: str) -> dict[str, Any]:
    """The concepts of texts; `ValidationError` if `task` is another one.

    A topic is that of the first example whose topic the text names, else its most frequent word.
    """
    described = Described.model_validate_json(task)
    return {name: _concepts(memory, described.examples) for name, memory in described.memories.items()}


def _concepts(memory: Text, examples: list[Text]) -> dict[str, Any]:
    text = f"{memory.prompt or ''}\n{memory.answer}"
    names = _most_frequent(text) or ["Text"]
    words = {key(word) for word in tokens(text)}
    topics_near = [str(one.concepts.get("topic") or "") for one in examples]
    topic = next((one for one in topics_near if one and key(one) in words), names[0])
    return {
        "subjects": names,
        "topic": topic,
        "general_1": ["Question" if memory.prompt else "Statement"],
        "general_2": ["Chinese Text" if is_chinese(text) else "Text"],
        "general_3": ["Language"],
        "general_4": ["Knowledge"],
    }


def _most_frequent(text: str) -> list[str]:
    found = [word[:LONGEST] for word in topics(tokens(text))]
    long = [word for word in found if len(word) >= SHORTEST or word >= "一"] or found
    spelt = {key(word): word for word in reversed(long)}
    return [spelt[one][:1].upper() + spelt[one][1:] for one, _ in Counter(map(key, long)).most_common(SUBJECTS)]
