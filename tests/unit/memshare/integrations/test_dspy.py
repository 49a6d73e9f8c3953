"""The retriever of DSPy, which needs an environment of its own: it brings an older openai than the agents take."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from memshare import Memory
from tests.support.deployment import ROOT

PROGRAM = """
import sys
from memshare import Memory
from memshare.integrations.dspy import MemoryRetriever
with Memory(sys.argv[1]) as memory:
    search = MemoryRetriever(memory, "logic")
    found = search("new lamp by the sea")
    assert found.passages == ["red lamp by the sea\\nA light."], found.passages
    assert [str(one.id) for one in found.memories] == [sys.argv[2]]
    assert memory.feedback(1.0, recall_id=found.recall_id).taken
    assert search("new lamp by the sea", k=0).passages == []
    import dspy
    class Solver(dspy.Module):
        def __init__(self):
            super().__init__()
            self.search = search
        def forward(self, question):
            return dspy.Prediction(answer=self.search(question).memories[0].answer)
    assert Solver()(question="new lamp by the sea").answer == "A light."
"""


@pytest.mark.slow
def test_a_program_of_dspy_retrieves_memories(client: Memory, url: str, shelf: dict[str, str]) -> None:
    assert client
    python = os.environ.get("DSPY_PYTHON")
    if python is None:
        pytest.skip("DSPy 3.4 takes openai before 3: set DSPY_PYTHON to a Python that has memshare[dspy]")

    done = subprocess.run(
        [Path(python), "-c", PROGRAM, url, shelf["logic"]],
        cwd="/",
        env={"PYTHONPATH": str(ROOT / "src"), "HOME": os.environ.get("HOME", "/")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
