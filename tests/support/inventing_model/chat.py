"""A model that needs no weights and makes its answers up by rule: it learns from the examples in its prompt alone."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from pydantic import BaseModel, ValidationError

from memshare_broker.errors import GiveUp
from memshare_broker.wire.messages import Turn, Usage
from memshare_llm.chat import FirstToken, NoLogprobs, Reply
from tests.support.chat_script import Answer
from tests.support.chat_server import ChatServer
from tests.support.inventing_model.answer import Example, answer
from tests.support.inventing_model.concepts import name_concepts
from tests.support.inventing_model.contradict import contradict
from tests.support.inventing_model.grade import grade
from tests.support.inventing_model.label import label
from tests.support.inventing_model.question import question
from tests.support.inventing_model.quote import quote
from tests.support.inventing_model.reason import check, plan, read_page, respond, summarise
from tests.support.inventing_model.style import write_questions
from tests.support.inventing_model.sum_up import sum_up
from tests.support.inventing_model.words import tokens

# What fills a schema: from a task to its value, or `ValidationError` for a task of another kind. New skills go here.
_SKILLS = (
    *(grade, contradict, name_concepts, label, question, write_questions, quote, sum_up),
    *(plan, read_page, summarise, respond, check),  # of the reasoning agent
)
_EXAMPLE = "What is known: "  # as agents/memshare_agents/answering.py writes above a memory without a prompt

Fits = Callable[[dict[str, Any]], bool]


class InventingChat:
    """The model in this process."""

    name = "inventing"

    def reply(self, turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> Reply:
        """An answer to the last user turn; with a schema, its value, or `GiveUp` if there is no skill for it."""
        text = _said(turns, None if schema is None else lambda value: bool(schema.model_validate(value)))
        if text is None:
            raise GiveUp(f"The inventing model has no skill for this, and was asked: {turns[-1].content[:200]!r}")
        read = sum(len(tokens(turn.content)) for turn in turns)
        return Reply(text=text, model=self.name, usage=Usage(prompt_tokens=read, completion_tokens=len(tokens(text))))

    def first_token(self, turns: Sequence[Turn]) -> FirstToken:  # noqa: ARG002
        raise NoLogprobs("The inventing model has no tokens, and so no probabilities of them.")


def invents(body: dict[str, Any]) -> Answer:
    """The same model as the script of a chat server; it refuses what it has no skill for."""
    wanted = (body.get("response_format") or {}).get("json_schema")
    fits = None if wanted is None else lambda value: value.keys() <= wanted["schema"]["properties"].keys()
    text = None if body.get("logprobs") else _said([Turn.model_validate(turn) for turn in body["messages"]], fits)
    return Answer(text) if text is not None else Answer("There is no skill for this.", status=400)


@functools.cache
def served() -> dict[str, str]:
    """The settings of the model on a server that runs as long as this process."""
    server = ChatServer(invents)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="inventing-model", daemon=True).start()
    return {"MEMSHARE_MODEL": "openai:scripted", "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "test"}


def _said(turns: Sequence[Turn], fits: Fits | None) -> str | None:
    task = next((turn.content for turn in reversed(turns) if turn.role == "user"), "")
    return answer(_examples(turns), task) if fits is None else _filled(fits, task)


def _filled(fits: Fits, task: str) -> str | None:
    for skill in _SKILLS:
        try:
            value: dict[str, Any] = skill(task)
            if fits(value):
                return json.dumps(value, ensure_ascii=False)
        except ValidationError:
            continue  # with the next skill
    return None


def _examples(turns: Sequence[Turn]) -> list[Example]:
    """The answered turns; without any, the examples in the system turn."""
    pairs = [Example(a.content, b.content) for a, b in pairwise(turns) if (a.role, b.role) == ("user", "assistant")]
    system = "".join(turn.content for turn in turns if turn.role == "system")
    return pairs or [Example("", text.strip()) for text in system.split(_EXAMPLE)[1:]]
