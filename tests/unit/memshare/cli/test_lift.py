"""The lift of memories, as commands tell it. The real command line, door and Redis."""

from __future__ import annotations

import pytest
import redis

from memshare_memory.belief.lift import LiftSums, TaskGroup, Tried
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
def terminal(terminal: Terminal) -> Terminal:
    terminal.environment["MEMSHARE_WITHHOLD"] = "0.05"
    return terminal


def count(client: redis.Redis, memory: Memory, withheld: int) -> None:
    sums, group = LiftSums(client, keep_days=1), TaskGroup("one withheld", "poem", "limerick", "openai:m")
    for number in range(20):
        sums.count("poem", f"shown {number}", 81.0 if number % 2 else 79.0, group, [memory.id], withheld=False)
    for number in range(withheld):
        sums.count("poem", f"withheld {number}", 70.0, group, [memory.id], withheld=True)


def test_stats_and_show_tell_the_lift_once_enough_tasks_went_without_a_memory(
    terminal: Terminal, redis_client: redis.Redis, lamp: Memory
) -> None:
    early = " ".join(terminal.run("memories", "stats").stdout.split())
    assert "all withheld, all tasks: too early: chance begins once 20 graded tasks" in early
    assert "so far 0 in poem; then it takes some 500 more tasks." in early
    count(redis_client, lamp, 4)
    stats = " ".join(terminal.run("memories", "stats").stdout.split())
    assert "too early: some 120 more tasks" in stats
    assert "What memories do: too early: nearest is one memory more or less, some 120 more tasks; all withheld" in stats
    assert "Lift" not in terminal.run("memories", "show", str(lamp.id)).stdout

    count(redis_client, lamp, 10)

    # The variances are 20 / 19 and, as of both, 20 / 28: so the error is .352. Its interval has those of half an answer
    # more at both ends: (80² + 20²) / 2 / 21² and (70² + 30²) / 2 / 11².
    stats = " ".join(terminal.run("memories", "stats").stdout.split())
    assert (
        "One memory more or less, poem, limerick, openai:m: +10.0 points (-1.1 to +21.1), of 20 with and 10 without."
        in stats
    )
    said = "+10.0 ± 0.4 points (standard error; 20 tasks with all shown, 10 with one withheld at random)"
    assert f"Lift {said}" in " ".join(terminal.run("memories", "show", str(lamp.id)).stdout.split())
    LiftSums(redis_client, keep_days=1).count("poem", "x", 1.0, TaskGroup("all withheld", "a", "", ""), withheld=True)
    assert "Harms" not in stats
    [every, row] = [one for one in terminal.json("memories", "stats")["helps"] if one["way"] == "one withheld"]
    assert (every["agent"], row["agent"], row["kind"], row["model"]) == (None, "poem", "limerick", "openai:m")
    assert (row["unit"], row["tasks"], row["tasks_without"], row["difference"]) == ("points", 20, 10, 10)
    figures = {"points": 10.0, "error": pytest.approx(0.352, abs=1e-3), "shown": 20, "withheld": 10}
    assert terminal.json("memories", "show", str(lamp.id))["lift"] == {**figures, "needed": 10}


@pytest.mark.usefixtures("lamp")
def test_stats_tell_of_all_tasks_those_of_models_of_ones_own(terminal: Terminal, redis_client: redis.Redis) -> None:
    sums = LiftSums(redis_client, keep_days=1)
    for model, gain in (("openai:student", 100.0), ("openai:a", 0.0), ("openai:b", 0.0)):
        group = TaskGroup("all withheld", "poem", "limerick", model)
        for number in range(20):
            sums.count("poem", f"{model} {number}", gain * (number % 2), group, withheld=number % 2 == 0)

    said = " ".join(terminal.run("memories", "stats").stdout.split())

    by = "all tasks of poem, by openai:a and openai:b, without the copies of openai:student"
    assert f"With memories, all withheld, {by}: +0.0 points" in said
    assert "+100.0 points" in said, "of the student"


def test_numbers_of_memories_have_differences_with_intervals_and_no_levels() -> None:
    found = Tried(model="openai:m", kind=None, tasks={0: 12, 3: 40}, best=0)
    harmed = found.model_copy(update={"beside_usual": {0: (11.0, 2.0, 20.0)}})

    assert found.in_words == "0: no difference known yet; tasks with 0 in 12, 3 in 40"
    said = "tasks with 0 in 12: +11.0 points (+2.0 to +20.0) beside 3, 3 in 40"
    assert harmed.in_words == f"0: memories do not help here, as far as was learnt; {said}"
