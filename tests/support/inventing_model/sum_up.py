"""Sums up a field for the inventing model: the first sentence of each of the most typical memories."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel

from tests.support.inventing_model.quote import Said

SENTENCES = 5
LONGEST = 300  # characters of a sentence

_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n")


class Field(BaseModel):
    """The task of summing up a field, as `memshare concepts summary` writes it."""

    field: str
    topics: list[str]
    memories: dict[str, Said]


def sum_up(task: str) -> dict[str, Any]:
    """What the first memories say, each in its first sentence; `ValidationError` for another task."""
    asked = Field.model_validate_json(task)
    first = list(asked.memories.items())[:SENTENCES]
    return {
        "sentences": [
            {"text": _END.split(said.answer.strip(), maxsplit=1)[0][:LONGEST] or said.prompt or name, "cites": [name]}
            for name, said in first
        ]
    }
