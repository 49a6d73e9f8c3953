"""The shared memory as an example selector of LangChain."""

from __future__ import annotations

from typing import Any

from langchain_core.example_selectors import BaseExampleSelector

from memshare.client.rest.memory import Memory
from memshare_broker.errors import BadInput


class MemoryExampleSelector(BaseExampleSelector):
    """Selects memories as the examples of a few-shot prompt, and offers the examples that are added.

    >>> selector = MemoryExampleSelector(Memory(token="msh_…"), "logic")
    >>> FewShotPromptTemplate(example_selector=selector, example_prompt=…, suffix="{input}", input_variables=["input"])
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
    ) -> None:
        self._memory = memory
        self._agent = agent
        self._kind = kind
        self._k = k
        self._input = input_key
        self._output = output_key

    def select_examples(self, input_variables: dict[str, str]) -> list[dict[str, Any]]:
        """The memories that fit a task, most similar last; `recall_id` is for feedback."""
        prompt = self._of(input_variables, self._input)
        recalled = self._memory.recall(prompt, agent=self._agent, k=self._k)
        return [
            {self._input: one.prompt or "", self._output: one.answer, "recall_id": str(recalled.recall_id)}
            for one in reversed(recalled.memories)
        ]

    def add_example(self, example: dict[str, str]) -> str:
        """Offer an example: it is graded, and selected from then on where it is good enough. Returns its journey."""
        prompt, answer = self._of(example, self._input), self._of(example, self._output)
        recall_id = example.get("recall_id")
        return self._memory.pairs(prompt, answer, agent=self._agent, kind=self._kind, recall_id=recall_id).id

    @staticmethod
    def _of(fields: dict[str, str], key: str) -> str:
        if key not in fields:
            raise BadInput(f"Expected {key!r} among the variables, found {', '.join(sorted(fields)) or 'none'}.")
        return fields[key]
