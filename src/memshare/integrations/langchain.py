"""The shared memory as an example selector of LangChain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.example_selectors import BaseExampleSelector
from langchain_core.messages import HumanMessage, convert_to_messages

from memshare.client.rest.task import Memory
from memshare.integrations.last_turn import last_turn
from memshare_broker.errors import BadInput


class MemoryExampleSelector(BaseExampleSelector):
    """Selects memories as the examples of a few-shot prompt, and offers the examples that are added.

    With a `history_key` the messages under it are the history of the task. For a `FewShotPromptTemplate`, which reads
    braces in examples as its own, say `double_braces=True`.

    >>> selector = MemoryExampleSelector(Memory(token="msh_…"), "logic", history_key="history")
    >>> shown = FewShotChatMessagePromptTemplate(
    ...     example_selector=selector, example_prompt=…, input_variables=["input", "history"]
    ... )
    >>> ChatPromptTemplate([("system", …), ("placeholder", "{history}"), shown, ("human", "{input}")])
    """

    def __init__(
        self,
        memory: Memory,
        agent: str,
        *,
        kind: str | None = None,
        k: int = 3,
        input_key: str = "input",
        output_key: str = "output",
        history_key: str | None = None,
        double_braces: bool = False,
    ) -> None:
        self._memory = memory
        self._agent = agent
        self._kind = kind
        self._k = k
        self._input = input_key
        self._output = output_key
        self._history = history_key
        self._double_braces = double_braces

    def select_examples(self, input_variables: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The memories that fit a task, most similar last; `recall_id` is for feedback."""
        recalled = self._memory.recall(**self._asked(input_variables), agent=self._agent, k=self._k)
        return [
            {
                self._input: self._text(one.prompt or ""),
                self._output: self._text(one.answer),
                "recall_id": str(recalled.recall_id),
            }
            for one in reversed(recalled.memories)
        ]

    def add_example(self, example: Mapping[str, Any]) -> str:
        """Offer an example: it is graded, and selected from then on where it is good enough. Returns its journey."""
        about: dict[str, Any] = {"agent": self._agent, "kind": self._kind, "recall_id": example.get("recall_id")}
        return self._memory.pairs(answer=self._of(example, self._output), **self._asked(example), **about).id

    def _asked(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        history = convert_to_messages(fields.get(self._history) or ()) if self._history else ()
        turn = last_turn([*history, HumanMessage(self._of(fields, self._input))], "langchain")
        assert turn
        return turn.asked

    def _text(self, text: str) -> str:
        return text.replace("{", "{{").replace("}", "}}") if self._double_braces else text

    @staticmethod
    def _of(fields: Mapping[str, Any], key: str) -> Any:
        if key not in fields:
            raise BadInput(f"Expected {key!r} among the variables, found {', '.join(sorted(fields)) or 'none'}.")
        return fields[key]
