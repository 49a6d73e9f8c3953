"""A terminal for tests of commands."""

from __future__ import annotations

from pathlib import Path

import pytest
import redis

from memshare_broker.settings import Settings
from tests.support.terminal import Terminal


@pytest.fixture
def terminal(settings: Settings, redis_client: redis.Redis, tmp_path: Path) -> Terminal:  # noqa: ARG001 - it is empty
    """A terminal at the Redis of a test, on which nothing runs."""
    terminal = Terminal(tmp_path)
    terminal.environment["MEMSHARE_REDIS_URL"] = settings.redis
    return terminal
