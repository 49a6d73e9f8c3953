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
    assert found.beside_usual
    assert {points for points, *_ in found.beside_usual.values()} == {0.0}


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

    bandit.count("poem", None, "three", 60.0, Examples(model="b", number=3))

    # A sum is of differences to the level, which has its tasks and its mean and begins with the first score.
    assert redis_client.hgetall(how_many_key("poem")) == {
        "\x1fa\x1f": "1 80", "\x1fa\x1friddle": "5 80", "0\x1fa\x1f": "1 0 0 0 0 0",
        "0\x1fa\x1friddle": "1 0 0 0 0 0", "\x1fb\x1f": "2 55", "0\x1fb\x1f": "0 0 0 1 0 0",
        "3\x1fb\x1f": "1 10 100 0 0 0",
    }  # fmt: skip
    assert tried(redis_client, "logic") == []


@pytest.mark.parametrize("begins", [0.2, 0.95])
def test_a_pool_that_gets_better_does_not_speak_against_the_usual_number_of_its_first_tasks(
    redis_client: redis.Redis, begins: float
) -> None:
    bandit, best = HowMany(redis_client), []
    for pool in map(str, range(12)):
        chance = Random(pool)
        for task in map(str, range(250)):  # what is right has nothing to do with the number
            examples = bandit.choose(pool, "openai:m", None, pool + task)
            score = 100.0 * (chance.random() < min(begins + int(task) / 200, 0.95))
            bandit.count(pool, None, pool + task, score, examples)
        best += [one.best for one in tried(redis_client, pool)]

    assert best.count(USUAL) >= 5, best


def test_where_memories_harm_none_is_shown_after_some_hundred_tasks_also_while_the_pool_gets_better(
    redis_client: redis.Redis,
) -> None:
    bandit, chance, chosen = HowMany(redis_client), Random(3), []
    for task in range(300):
        examples = bandit.choose("poem", "openai:m", None, str(task))
        chosen.append(examples.number)
        right = min(0.4 + task / 500, 0.7) - (0.3 if examples.number else 0)
        bandit.count("poem", None, str(task), 100.0 * (chance.random() < right), examples)

    assert chosen[-60:].count(0) > 45
    (found,) = tried(redis_client, "poem")
    points, low, high = found.beside_usual[0]
    assert 0 < low < 30 < high < 60
    assert points == pytest.approx((low + high) / 2), "the interval is about it"
    assert found.verdict == "memories do not help here, as far as was learnt"


def test_a_few_tasks_are_no_verdict_on_memories(redis_client: redis.Redis) -> None:
    bandit = HowMany(redis_client)
    for number, scores in ((USUAL, (40.0, 60.0) * 10), (0, (70.0, 90.0) * 4)):
        for place, score in enumerate(scores):
            bandit.count("poem", None, f"{number} {place}", score, Examples(model="openai:m", number=number))

    (found,) = tried(redis_client, "poem")
    assert found.beside_usual == {}, "eight tasks without are too few"
    assert found.model_copy(update={"best": 0}).verdict == "no difference known yet"
    close = found.model_copy(update={"best": 0, "beside_usual": {0: (5.0, -19.0, 29.0)}})
    assert close.verdict == "no difference known yet"


def test_the_only_kind_stands_for_all_kinds(redis_client: redis.Redis) -> None:
    right = {0: 0.4, 1: 0.8, 3: 0.5, 6: 0.4}
    learn(redis_client, right, kind="limerick", tasks=100)
    assert [one.kind for one in tried(redis_client, "poem")] == ["limerick"]

    learn(redis_client, right, kind="riddle", tasks=100)
    assert [one.kind for one in tried(redis_client, "poem")] == [None, "limerick", "riddle"]


def test_a_few_tasks_without_that_are_alike_do_not_say_that_memories_harm(redis_client: redis.Redis) -> None:
    for kind in ("3", "0"):
        scores = [100.0, 100.0, 100.0, 100.0, 50.0] * 12 if kind == "3" else [100.0] * 10
        sums = " ".join(map(str, (len(scores), sum(scores), sum(one**2 for one in scores), 0, 0, 0)))
        redis_client.hset(how_many_key("poem"), "\x1f".join((kind, "openai:m", "")), sums)
    redis_client.hset(how_many_key("poem"), "\x1f".join(("", "openai:m", "")), "70 0 0 0 0 0")

    (found,) = tried(redis_client, "poem")

    points, low, _ = found.beside_usual[0]
    assert points == 10
    assert low < 0
