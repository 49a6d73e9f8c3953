"""The lift of memories, as commands tell it. The real command line, door and Redis."""

from __future__ import annotations

from pathlib import Path

import pytest
import redis

from memshare_broker.settings import Settings
from memshare_memory.belief.lift import LiftSums
from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import Memory
from tests.support.memories import remembered
from tests.support.terminal import Terminal


@pytest.fixture
def lamp(memory: MemoryClient) -> Memory:
    found = remembered("red lamp by the sea")[0]
    memory.restore([found])
    return found


@pytest.fixture
def terminal(settings: Settings, tmp_path: Path) -> Terminal:
    terminal = Terminal(tmp_path)
    terminal.environment["MEMSHARE_REDIS_URL"] = settings.redis
    return terminal


def count(client: redis.Redis, memory: Memory, withheld: int) -> None:
    sums = LiftSums(client, keep_days=1)
    for number in range(20):
        sums.count("poem", f"shown {number}", 81.0 if number % 2 else 79.0, [memory.id])
    for number in range(withheld):
        sums.count("poem", f"withheld {number}", 70.0, [memory.id], withheld=True)


def test_stats_and_show_tell_the_lift_once_enough_tasks_went_without_a_memory(
    terminal: Terminal, redis_client: redis.Redis, lamp: Memory
) -> None:
    assert "Lift" not in terminal.run("memories", "stats").stdout
    count(redis_client, lamp, 4)
    assert "not known yet: 4 of 10 tasks" in terminal.run("memories", "stats").stdout
    assert "Lift" not in terminal.run("memories", "show", str(lamp.id)).stdout

    count(redis_client, lamp, 10)

    said = "+10.0 ± 0.2 points (20 tasks with all shown, 10 with one withheld at random)"
    assert f"poem: {said}" in " ".join(terminal.run("memories", "stats").stdout.split())
    assert f"Lift {said}" in " ".join(terminal.run("memories", "show", str(lamp.id)).stdout.split())
    figures = {"points": 10.0, "error": pytest.approx(0.229, abs=1e-3), "shown": 20, "withheld": 10}
    assert terminal.json("memories", "stats")["lift"] == {"poem": {**figures, "needed": 10}}
    assert terminal.json("memories", "show", str(lamp.id))["lift"] == {**figures, "needed": 5}
