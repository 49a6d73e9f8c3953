"""An engine for unit tests, on the pool of the test, and PDFs made on the spot."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from reportlab.pdfgen.canvas import Canvas

from memshare_agents.reasoning.engine import OPERATORS, Engine
from memshare_agents.reasoning.knowledge import Knowledge
from memshare_agents.reasoning.run_state import RunLimits
from memshare_agents.reasoning.sources.build import Sources
from memshare_llm.chat import Chat
from memshare_memory.door.client import MemoryClient
from tests.support.shelf import sources

MakeEngine = Callable[..., Engine]


@pytest.fixture
def knowledge(memory: MemoryClient) -> Knowledge:
    return Knowledge(memory, "reasoning", 3, "hybrid")


@pytest.fixture
def make_engine(knowledge: Knowledge) -> MakeEngine:
    def make(chat: Chat, found_in: Sources | None = None, operators: Any = OPERATORS, **limits: float) -> Engine:
        # Without a recall before the first plan, so that a test knows what its own steps found.
        return Engine(
            operators, RunLimits(**limits), lambda _: chat, knowledge, found_in or sources(), recalls_first=False
        )

    return make


@pytest.fixture
def make_pdf() -> Callable[..., bytes]:
    def make(*pages: str, title: str = "") -> bytes:
        """A PDF with these texts, a line for each line."""
        file = io.BytesIO()
        canvas = Canvas(file)
        if title:
            canvas.setTitle(title)
        for page in pages:
            for number, line in enumerate(page.splitlines()):
                canvas.drawString(50, 800 - 14 * number, line)
            canvas.showPage()
        canvas.save()
        return file.getvalue()

    return make
