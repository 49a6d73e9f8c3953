"""The shared memory as a retriever of DSPy."""

from __future__ import annotations

from typing import Any

import dspy

from memshare.client.rest.task import Memory


class MemoryRetriever(dspy.Retrieve):  # type: ignore[misc]
    """Retrieves memories as passages, best first.

    >>> search = MemoryRetriever(Memory(token="msh_…"), "logic")
    >>> found = search("What has keys and opens no door?")
    >>> found.passages, found.recall_id
    """

    def __init__(self, memory: Memory, agent: str, k: int = 3) -> None:
        super().__init__(k=k)
        self._memory = memory
        self._agent = agent

    def forward(self, query: str, k: int | None = None, **_: Any) -> dspy.Prediction:
        """The memories as texts and as they are; `recall_id` is for an offer and for feedback."""
        recalled = self._memory.recall(query, agent=self._agent, k=self.k if k is None else k)
        return dspy.Prediction(
            passages=[one.answer if one.prompt is None else f"{one.prompt}\n{one.answer}" for one in recalled.memories],
            memories=list(recalled.memories),
            recall_id=str(recalled.recall_id),
        )
