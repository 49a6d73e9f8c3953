"""What a settled task counts in the lift of its memories."""

from __future__ import annotations

from uuid import UUID

import pytest
import redis

from memshare_broker.wire.grades import GradedTask
from memshare_broker.wire.messages import Examples, Shown
from memshare_memory.admit.after import Lessons
from memshare_memory.admit.settle import SettleStage
from memshare_memory.belief.lift import (
    LiftSums,
    Side,
    groups,
    how_many_key,
    lift_key,
    memory_lift,
    tries,
    without_grade,
)
from memshare_memory.curate.curate import Curate
from memshare_memory.curate.requests import Edit
from memshare_memory.memory import Memory
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import Recall
from tests.support.graded import graded
from tests.support.memories import remembered


@pytest.fixture
def settle(pool: Pool, redis_client: redis.Redis) -> SettleStage:
    return SettleStage(pool, redis_client, Lessons(redis_client, 1))


@pytest.fixture
def memories(recall: Recall) -> list[Memory]:
    found = [remembered(name)[0] for name in ("red lamp", "old shoe")]
    recall.store.put([(one, recall.vectors([one])[0]) for one in found])
    return found


def pair(
    recall: Recall, journey: str, shown: list[UUID], withheld: UUID | None = None, *, randomized: bool = True
) -> GradedTask:
    found = graded(recall, journey, journey, journey=journey, score=40, shown=shown)
    gone = Shown(id=withheld, similarity=0.5) if withheld else None
    return found.model_copy(update={"task": found.task.model_copy(update={"withheld": gone, "randomized": randomized})})


def test_a_task_that_is_settled_twice_counts_once_on_its_side(
    recall: Recall, settle: SettleStage, memories: list[Memory], redis_client: redis.Redis
) -> None:
    lamp, shoe = (memory.id for memory in memories)

    for one in (pair(recall, "one", [lamp, shoe]), pair(recall, "two", [lamp], shoe)):
        settle.run(one.task.journey, one)
        settle.run(one.task.journey, one)

    [(group, shown, withheld)] = groups(redis_client, "poem")
    assert (group.way, shown.tasks, withheld.tasks) == ("one withheld", 1, 1)
    # A task without another memory says nothing of this one, nor does a task that might have been without another.
    counts = [memory_lift(redis_client, "poem", one) for one in (lamp, shoe)]
    assert (sum(one.shown for one in counts), [one.withheld for one in counts]) == (1, [0, 1])


def test_tasks_that_were_shown_many_do_not_speak_for_a_memory(
    recall: Recall, settle: SettleStage, memories: list[Memory], redis_client: redis.Redis
) -> None:
    # Chance takes half of the tasks, and then any of their memories: hard tasks have one, easy ones two.
    lamp, shoe = (memory.id for memory in memories)
    for number in range(160):
        shown = [lamp] if number % 2 else [lamp, shoe]
        gone = shown[number // 4 % len(shown)] if number % 4 < 2 else None
        one = pair(recall, f"task {number}", [each for each in shown if each != gone], gone)
        score = one.score.model_copy(update={"total": 40.0 if len(shown) == 1 else 80.0})
        settle.run(one.task.journey, one.model_copy(update={"score": score}))

    found = memory_lift(redis_client, "poem", lamp)
    assert found.points == pytest.approx(0, abs=3)  # by all that were shown it: 60 and 53.3


def test_a_task_with_memories_of_two_pools_counts_once(
    recall: Recall, settle: SettleStage, memories: list[Memory], redis_client: redis.Redis
) -> None:
    other = remembered("blue hat")[0].model_copy(update={"pool": "team"})
    recall.store.put([(other, recall.vectors([other])[0])])

    for number in range(20):
        one = pair(recall, f"task {number}", [memories[0].id, other.id])
        settle.run(one.task.journey, one)

    counts = [shown.tasks for pool in ("poem", "team") for _, shown, _ in groups(redis_client, pool)]
    assert sum(counts) == 20
    assert min(counts) > 2


def test_a_task_of_which_nothing_could_be_withheld_does_not_count(
    recall: Recall, settle: SettleStage, memories: list[Memory], redis_client: redis.Redis
) -> None:
    one = pair(recall, "one", [memories[0].id], randomized=False)

    settle.run("one", one)

    assert not redis_client.exists(lift_key("poem"))


def test_a_memory_that_was_forgotten_or_rewritten_has_no_lift(
    recall: Recall, settle: SettleStage, memories: list[Memory], redis_client: redis.Redis, pool: Pool
) -> None:
    lamp, shoe = (memory.id for memory in memories)
    gone = UUID(int=9)
    settle.run("one", pair(recall, "one", [lamp, shoe]))
    settle.run("two", pair(recall, "two", [lamp], gone))

    Curate(pool, redis_client).edit(Edit(id=lamp, answer="Another one."))

    [(_, shown, withheld)] = groups(redis_client, "poem")
    assert (shown.tasks, withheld.tasks) == (1, 1)
    assert {name for name in redis_client.hkeys(lift_key("poem")) if "\x1f" not in name} == {str(shoe)}


def test_a_task_counts_for_the_number_of_memories_that_was_meant_where_so_many_were_shown(
    recall: Recall, settle: SettleStage, memories: list[Memory], redis_client: redis.Redis
) -> None:
    for journey, meant in (("one", 2), ("two", 3)):
        found = pair(recall, journey, [memory.id for memory in memories], randomized=False)
        examples = Examples(model="scripted", number=meant)
        found = found.model_copy(update={"task": found.task.model_copy(update={"examples": examples})})
        settle.run(journey, found)
        settle.run(journey, found)

    counted = redis_client.hgetall(how_many_key("poem"))
    assert {field.split("\x1f")[0]: text.split()[0] for field, text in counted.items() if field[0] != "\x1f"} == {
        "2": "1"
    }


def test_a_number_that_chance_took_counts_as_it_was_meant(
    recall: Recall, settle: SettleStage, memories: list[Memory], redis_client: redis.Redis
) -> None:
    # Of six that were meant two were found; of the last one the bandit chose the number.
    for journey, meant, by_chance in (("one", 6, True), ("two", 0, True), ("three", 0, False)):
        found = pair(recall, journey, [one.id for one in memories] if meant else [], randomized=False)
        examples = Examples(model="scripted", number=meant, by_chance=by_chance)
        found = found.model_copy(update={"task": found.task.model_copy(update={"examples": examples})})
        settle.run(journey, found)
        settle.run(journey, found)

    [(group, shown, without)] = groups(redis_client, "poem")
    assert group.way == "all withheld"
    assert (shown, without) == (Side(1, 40, 1_600), Side(1, 40, 1_600))


def test_the_only_memory_is_told_apart_from_one_of_several(
    recall: Recall, settle: SettleStage, memories: list[Memory], redis_client: redis.Redis
) -> None:
    lamp, shoe = (memory.id for memory in memories)
    for one in (pair(recall, "one", [lamp]), pair(recall, "two", [], lamp), pair(recall, "three", [lamp], shoe)):
        settle.run(one.task.journey, one)

    found = {group.way: (shown.tasks, without.tasks) for group, shown, without in groups(redis_client, "poem")}
    assert found == {"only one withheld": (1, 1), "one withheld": (0, 1)}


def test_a_task_that_is_graded_is_none_without_a_grade(
    recall: Recall, settle: SettleStage, memories: list[Memory], redis_client: redis.Redis
) -> None:
    examples = Examples(model="scripted", number=3, by_chance=True)
    for journey in ("one", "two"):
        for group, withheld in tries("poem", None, "scripted", 2, examples, withheld=False):
            LiftSums(redis_client).note("poem", journey, group, withheld=withheld)
    found = pair(recall, "one", [memory.id for memory in memories])

    settle.run("one", found.model_copy(update={"task": found.task.model_copy(update={"examples": examples})}))

    left = {group.way: (shown.tasks, without.tasks) for group, shown, without in without_grade(redis_client, "poem")}
    assert left == {"all withheld": (1, 0), "one withheld": (1, 0)}


def test_an_answer_that_was_called_wrong_before_is_one_without_a_grade(
    recall: Recall,
    settle: SettleStage,
    memories: list[Memory],
    redis_client: redis.Redis,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SettleStage, "_was_called_wrong", lambda *_: True)
    found = pair(recall, "one", [memories[0].id])

    settle.run("one", found.model_copy(update={"score": found.score.model_copy(update={"accepted": True})}))

    [(group, shown, without)] = without_grade(redis_client, "poem")
    assert (group.way, shown.tasks, without.tasks) == ("only one withheld", 1, 0)
    assert groups(redis_client, "poem") == []
