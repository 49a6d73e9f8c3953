"""The offline model: deterministic, without weights; it learns from the examples in its prompt alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from pydantic import BaseModel, ValidationError

from memshare.broker.errors import GiveUp
from memshare.broker.wire.messages import Turn, Usage
from memshare.llm.chat import FirstToken, NoLogprobs, Reply
from memshare.llm.offline.answer import Example, answer
from memshare.llm.offline.concepts import name_concepts
from memshare.llm.offline.contradict import contradict
from memshare.llm.offline.grade import grade
from memshare.llm.offline.label import label
from memshare.llm.offline.question import question
from memshare.llm.offline.quote import quote
from memshare.llm.offline.reason import check, plan, read_page, respond, summarise
from memshare.llm.offline.style import write_questions
from memshare.llm.offline.sum_up import sum_up
from memshare.llm.offline.words import tokens

# What fills a schema: from a task to its value, or `ValidationError` for a task of another kind. New skills go here.
_SKILLS = (
    *(grade, contradict, name_concepts, label, question, write_questions, quote, sum_up),
    *(plan, read_page, summarise, respond, check),  # of the reasoning agent
)
_EXAMPLE = "What is known: "  # as agents/prompt.py writes above a memory without a prompt


class OfflineChat:
    """A stand-in for a chat model that needs no key and no network."""

    name = "offline"

    def reply(self, turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> Reply:
        """An answer to the last user turn; with a schema, its value, or `GiveUp` if there is no skill for it."""
        task = next((turn.content for turn in reversed(turns) if turn.role == "user"), "")
        text = _filled(schema, task) if schema else answer(_examples(turns), task)
        read = sum(len(tokens(turn.content)) for turn in turns)
        return Reply(text=text, model=self.name, usage=Usage(prompt_tokens=read, completion_tokens=len(tokens(text))))

    def first_token(self, turns: Sequence[Turn]) -> FirstToken:  # noqa: ARG002
        raise NoLogprobs("The offline model has no tokens, and so no probabilities of them.")


def _filled(schema: type[BaseModel], task: str) -> str:
    for skill in _SKILLS:
        try:
            return schema.model_validate(skill(task)).model_dump_json()
        except ValidationError:
            continue  # with the next skill
    raise GiveUp(
        "The offline model can only answer, ask, grade, compare, label and name concepts, and was asked for "
        f"{schema.__name__!r}: set MEMSHARE_MODEL=openai:MODEL or mistral:MODEL to use a real model"
    )


def _examples(turns: Sequence[Turn]) -> list[Example]:
    """The answered turns; without any, the examples in the system turn."""
    pairs = [Example(a.content, b.content) for a, b in pairwise(turns) if (a.role, b.role) == ("user", "assistant")]
    system = "".join(turn.content for turn in turns if turn.role == "system")
    return pairs or [Example("", text.strip()) for text in system.split(_EXAMPLE)[1:]]
