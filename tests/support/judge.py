"""A chat model that labels lessons by the words of the examples, and what it was asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel

from memshare.demo.student_server import labels
from memshare_broker.errors import TryAgain
from memshare_broker.wire.lessons import Candidate, LessonTask
from memshare_broker.wire.messages import Embedding, Turn, Usage, derived_id
from memshare_llm.chat import RefusedReply, Reply
from tests.support.grades import AGREES
from tests.support.scripted_chat import FirstTokens, ScriptedChat, no_logprobs

NOWHERE = Embedding.pack("none", np.zeros(2, dtype=np.float32))
UNSPEAKABLE = "unspeakable"
USAGE = Usage(prompt_tokens=103, completion_tokens=50)


class LabelsByAnswer(ScriptedChat):
    """Gives an example the percentage of its answer, and refuses a call that has an unspeakable text in it."""

    away = False

    def __init__(
        self,
        percent: Callable[[str], int],
        compared: Mapping[str, Any] = AGREES,
        first_tokens: FirstTokens = no_logprobs,
    ) -> None:
        super().__init__(first_tokens=first_tokens)
        self._percent = percent
        self._compared = compared

    def reply(self, turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> Reply:
        if self.away:
            raise TryAgain("Away.", reason="connection")
        self.conversations.append(tuple(turns))
        self.schemas.append(schema)
        if UNSPEAKABLE in turns[-1].content:
            raise RefusedReply("No.", "refused", USAGE)
        said = labels(document(turns), self.misleads, self._compared)
        return Reply(text=json.dumps(said), model=self.name, usage=USAGE)

    def misleads(self, prompt: str, example: tuple[str, str]) -> int:  # noqa: ARG002
        """In percent, how sure it is that an example leads away from the answer to a prompt."""
        return self._percent(example[1])


def document(turns: Sequence[Turn]) -> dict[str, Any]:
    """The JSON document of a conversation."""
    quoted: dict[str, Any] = json.loads(turns[-1].content)
    return quoted


def labelled(*answers: str, memory: str = "memory", prompt: str = "A haiku on rain", rivals: int = 0) -> LessonTask:
    """A lesson whose candidates have these answers, of which the last `rivals` may contradict its memory.

    A candidate is the same memory wherever its answer is the same.
    """
    candidates = [
        Candidate(id=derived_id("candidate", text), prompt=f"Asked for {text[:9]}", answer=text, embedding=NOWHERE)
        for text in answers
    ]
    return LessonTask(
        journey=f"journey of {memory}",
        pool="poem",
        agent="poem",
        submitter="ada",
        memory_id=derived_id(memory),
        prompt=prompt,
        answer="Rain on the old roof",
        embedding=NOWHERE,
        candidates=tuple(candidates),
        rivals=tuple(one.id for one in candidates[len(candidates) - rivals :]),
    )
