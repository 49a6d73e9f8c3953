"""An engine for unit tests, on the pool of the test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memshare.agents.reasoning.engine import Engine
from memshare.agents.reasoning.knowledge import Knowledge
from memshare.agents.reasoning.limits import Limits
from memshare.agents.reasoning.registry import OPERATORS
from memshare.agents.reasoning.sources import Sources
from memshare.llm.chat import Chat
from memshare.memory_service.door.client import MemoryClient
from tests.support.shelf import sources

MakeEngine = Callable[..., Engine]


@pytest.fixture
def knowledge(memory: MemoryClient) -> Knowledge:
    return Knowledge(memory, "reasoning", 3, "hybrid")


@pytest.fixture
def make_engine(knowledge: Knowledge) -> MakeEngine:
    def make(chat: Chat, found_in: Sources | None = None, operators: Any = OPERATORS, **limits: float) -> Engine:
        return Engine(operators, Limits(**limits), lambda _: chat, knowledge, found_in or sources())

    return make
