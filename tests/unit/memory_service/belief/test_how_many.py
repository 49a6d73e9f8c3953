from __future__ import annotations

from random import Random

import pytest
import redis

from memshare_broker.wire.messages import Examples
from memshare_memory.belief.lift import BEGIN_AFTER, NUMBERS, USUAL, HowMany, how_many_key, tried

TASKS = 500


def learn(client: redis.Redis, right: dict[int, float], *, kind: str | None = None, tasks: int = TASKS) -> list[int]:
    """Answer tasks that are right with these probabilities by number; the numbers that were chosen."""
    bandit, chance, chosen = HowMany(client), Random(7), []
    for task in range(tasks):
        examples = bandit.choose("poem", "openai:m", kind, f"{kind} {task}")
        chosen.append(examples.number)
        score = 100.0 * (chance.random() < right[examples.number])
        bandit.count("poem", kind, f"{kind} {task}", score, examples)
    return chosen


def test_so_many_as_usual_are_shown_until_some_tasks_were_graded_with_them(redis_client: redis.Redis) -> None:
    chosen = learn(redis_client, dict.fromkeys(NUMBERS, 0.5))

    assert set(chosen[:BEGIN_AFTER]) == {USUAL}
    assert set(chosen[BEGIN_AFTER:]) == set(NUMBERS)


@pytest.mark.parametrize(
    ("right", "best"),
    [
        ({0: 0.9, 1: 0.5, 3: 0.4, 6: 0.4}, 0),
        ({0: 0.2, 1: 0.3, 3: 0.7, 6: 0.4}, 3),
        ({0: 0.1, 1: 0.2, 3: 0.4, 6: 0.8}, 6),
    ],
)
def test_the_number_that_helps_most_is_shown_most(
    redis_client: redis.Redis, right: dict[int, float], best: int
) -> None:
    chosen = learn(redis_client, right)

    later = chosen[-200:]
    assert later.count(best) > 0.65 * len(later)
    (found,) = tried(redis_client, "poem")
    assert (found.model, found.kind, found.best) == ("openai:m", None, best)
    assert sum(found.tasks.values()) == TASKS


def test_where_all_are_alike_the_usual_number_stays_the_best(redis_client: redis.Redis) -> None:
    learn(redis_client, dict.fromkeys(NUMBERS, 1.0))

    (found,) = tried(redis_client, "poem")
    assert found.best in (0, 1, USUAL)  # and never the dearest
    assert set(found.scores.values()) == {100.0}


def test_a_kind_that_memories_harm_is_shown_none_beside_one_that_they_help(redis_client: redis.Redis) -> None:
    helped = {0: 0.1, 1: 0.4, 3: 0.7, 6: 0.7}
    harmed = {0: 0.9, 1: 0.3, 3: 0.2, 6: 0.2}
    learn(redis_client, helped, kind="limerick")
    chosen = learn(redis_client, harmed, kind="riddle", tasks=200)

    of = {one.kind: one for one in tried(redis_client, "poem")}
    assert (of["riddle"].best, of["limerick"].best in (3, 6)) == (0, True)
    assert chosen[-60:].count(0) > 30


def test_a_few_per_cent_of_each_number_are_chosen_by_chance(redis_client: redis.Redis) -> None:
    bandit, chosen = HowMany(redis_client), []
    learn(redis_client, {0: 0.2, 1: 0.6, 3: 0.6, 6: 0.6}, tasks=1_500)

    chosen = [bandit.choose("poem", "openai:m", None, f"later {task}") for task in range(1_000)]
    by_chance = [one.number for one in chosen if one.by_chance]
    assert 50 < len(by_chance) < 120
    assert all(by_chance.count(number) > 10 for number in NUMBERS)


def test_the_draw_depends_on_the_task_alone_and_nothing_is_tried_where_nothing_is_learnt(
    redis_client: redis.Redis,
) -> None:
    learn(redis_client, {0: 0.2, 1: 0.3, 3: 0.7, 6: 0.4})
    bandit = HowMany(redis_client)

    for task in map(str, range(50)):
        assert bandit.choose("poem", "openai:m", None, task) == bandit.choose("poem", "openai:m", None, task)
        assert bandit.choose("poem", "openai:m", None, task, learn=False) == Examples(model="openai:m", number=3)


def test_a_task_is_counted_once_for_its_model_and_kind(redis_client: redis.Redis) -> None:
    bandit = HowMany(redis_client)

    for _ in range(2):
        bandit.count("poem", "riddle", "one", 80.0, Examples(model="a", number=0))
    bandit.count("poem", None, "two", 50.0, Examples(model="b", number=0, by_chance=True))

    assert redis_client.hgetall(how_many_key("poem")) == {
        "0\x1fa\x1f": "1 80 6400 0 0 0",
        "0\x1fa\x1friddle": "1 80 6400 0 0 0",
        "0\x1fb\x1f": "0 0 0 1 50 2500",
    }
    assert tried(redis_client, "logic") == []
