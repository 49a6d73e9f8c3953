"""`memories stats` says whose memories help more. The real command line, door and Redis."""

from __future__ import annotations

from pathlib import Path

import pytest
import redis

from memshare.broker.settings import Settings
from memshare.memory_service.door.client import MemoryClient
from memshare.memory_service.recall.balance import Earned
from tests.support.balanced import note
from tests.support.memories import remembered
from tests.support.terminal import Terminal


def test_stats_say_whose_memories_help_more_once_two_models_write(
    settings: Settings, memory: MemoryClient, redis_client: redis.Redis, tmp_path: Path
) -> None:
    own, foreign = (remembered(of, model=of)[0] for of in ("one", "other"))
    memory.restore([own, foreign])
    terminal = Terminal(tmp_path)
    terminal.environment["MEMSHARE_REDIS_URL"] = settings.redis
    note(redis_client, "poem", "limerick", "one", [Earned(own, 1.1, 1.0)] * 20)
    assert "own memories" not in terminal.run("memories", "stats").stdout

    note(redis_client, "poem", "limerick", "one", [Earned(foreign, 1.0, 1.0)] * 20)

    assert "limerick  1.10 (20)     1.00 (20)        +5.0%" in terminal.run("memories", "stats").stdout
    found = terminal.json("memories", "stats")["balance"]["poem"]["limerick"]
    assert found["own"] == {"credits": 20.0, "mean": pytest.approx(1.1)}
    assert found["shift"] == pytest.approx(0.05)
