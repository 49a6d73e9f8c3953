"""New questions for the inventing model: it joins the topics of a cluster, two by two."""

from __future__ import annotations

from itertools import combinations

from pydantic import BaseModel, Field

FORMS = ("What does {} explain about {}?", "How does {} relate to {}?")


class InTheStyle(BaseModel):
    """The task of writing questions in the style of a cluster, as `memshare concepts ask` writes it."""

    about: str
    topics: list[str]
    direction: str
    count: int = Field(ge=1)
    kept: list[str]
    not_again: list[str]


def write_questions(task: str) -> dict[str, list[str]]:
    """Questions that join two topics each; `ValidationError` for another task."""
    wanted = InTheStyle.model_validate_json(task)
    named = list(dict.fromkeys((*wanted.topics, wanted.about)))
    pairs = sorted(combinations(range(len(named)), 2), key=lambda pair: (sum(pair), pair))  # first topics first
    asked = [form.format(named[one], named[other]) for form in FORMS for one, other in pairs]
    there = {*wanted.kept, *wanted.not_again}
    fresh = [one for one in asked if one not in there][: wanted.count]
    return {"questions": fresh or [f"What is {wanted.about}?"]}
