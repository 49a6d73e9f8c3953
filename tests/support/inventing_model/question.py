"""Questions for the inventing model: what a task says that names the first topics of its answer."""

from __future__ import annotations

from pydantic import BaseModel

from tests.support.inventing_model.words import is_chinese, key, tokens, topics

NAMED = 4  # topics a question
SHORTEST = 4  # letters of a topic; shorter words tell little


class StandardAnswer(BaseModel):
    """The task of asking for a question, as agents write it."""

    answer: str
    kind: str | None = None
    round: int


def question(task: str) -> dict[str, str]:
    """A task with the answer's first topics, in a later round the next ones; `ValidationError` if it is another one."""
    asked = StandardAnswer.model_validate_json(task)
    chinese = is_chinese(asked.answer)
    found = {key(word): word for word in topics(tokens(asked.answer)) if chinese or len(word) >= SHORTEST}
    about = list(found.values()) or tokens(asked.answer)
    first = (asked.round - 1) * NAMED % max(1, len(about))
    named = (about[first:] + about[:first])[:NAMED]
    if chinese:
        return {"question": f"请以{'、'.join(named)}为题写作{asked.kind or ''}。"}
    return {"question": f"Write a {asked.kind or 'short text'} with: {', '.join(named) or 'no words'}."}
