"""A model that labels lessons by what it knows of their prompts, for the chat server of the tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from memshare.demo.student_server import labels
from tests.support.chat_script import Answer
from tests.support.grades import AGREES


class Oracle:
    """A script. It labels by `form`, which says of a prompt what kind it is, and answers prompts from a book.

    `inverted` makes it label the contrary of what it knows. It gives no log-probabilities, and grades everything well.
    """

    def __init__(self, form: Callable[[str], str], book: dict[str, str] | None = None, delay: float = 0.0) -> None:
        self.inverted = False
        self._form = form
        self._book = book or {}
        self._delay = delay

    def __call__(self, body: dict[str, Any]) -> Answer:
        if "logprobs" in body:
            return Answer(status=400, text="This model gives no log-probabilities.")
        document = body["messages"][-1]["content"]
        if "response_format" not in body:
            return Answer(text=self._book.get(document))
        if "task_1" not in body["response_format"]["json_schema"]["schema"]["properties"]:
            return Answer()
        said = labels(json.loads(document), self._misleads, AGREES)
        return Answer(text=json.dumps(said), delay=self._delay)

    def _misleads(self, prompt: str, example: tuple[str, str]) -> int:
        return 90 if (self._form(example[0]) == self._form(prompt)) is self.inverted else 10
