"""The retriever of DSPy, by itself and in a program."""

from __future__ import annotations

import dspy

from memshare import Memory
from memshare.integrations.dspy import MemoryRetriever

TASK = "new lamp by the sea"


def test_a_program_of_dspy_retrieves_memories(client: Memory, shelf: dict[str, str]) -> None:
    search = MemoryRetriever(client, "logic")

    class Solver(dspy.Module):  # type: ignore[misc]  # dspy has no types
        def __init__(self) -> None:
            super().__init__()
            self.search = search

        def forward(self, question: str) -> dspy.Prediction:
            return dspy.Prediction(answer=self.search(question).memories[0].answer)

    assert Solver()(question=TASK).answer == "A light."
    found = search(TASK)
    assert found.passages == ["red lamp by the sea\nA light."]
    assert [str(one.id) for one in found.memories] == [shelf["logic"]]
    assert client.feedback(1.0, recall_id=found.recall_id).taken
    assert search(TASK, k=0).passages == []
