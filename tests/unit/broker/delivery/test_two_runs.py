"""Two runs of one message of which one is given up: a worker that froze may come back late."""

import pytest
import redis

from memshare_broker.delivery.dead_letters import DeadLetters, letter_for
from memshare_broker.delivery.journey_records import read_outcomes
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.schema import (
    DEAD,
    ENDED,
    MESSAGES,
    Committed,
    Entry,
    Outgoing,
    journey_key,
    open_key,
    since_key,
)
from memshare_broker.errors import GiveUp
from memshare_broker.observe.metrics import DEAD_REASONS, METRICS, count

TASK = Entry(id="t1", task="agents.poem", queue="poem", body={"prompt": "x"}, journey="t1", stage="answer", begins=True)
FOLLOWING = Entry(id="t2", task="scorer.score", queue="scorer", body={}, journey="t1", stage="score")
NEXT = [Outgoing(FOLLOWING, "scorer", "its message")]
ANSWERED = count("memshare_tasks_total", stage="answer", outcome="answered")
DEAD_COUNTED = count("memshare_tasks_total", stage="answer", outcome="dead")


@pytest.fixture
def ledger(redis_client: redis.Redis) -> Ledger:
    return Ledger(redis_client, keep_days=1)


@pytest.fixture
def letters(redis_client: redis.Redis, ledger: Ledger) -> DeadLetters:
    """The dead letters, while two workers run the task."""
    ledger.open(TASK, keep=True)
    for incarnation in ("frozen", "other"):
        ledger.begin(TASK, incarnation)
    return DeadLetters(redis_client, ledger)


def test_an_answer_stands_though_another_run_was_given_up_before(
    ledger: Ledger, letters: DeadLetters, redis_client: redis.Redis
) -> None:
    assert letters.add(letter_for(TASK, GiveUp("It crashed.", "crash"), tries=5))

    committed = ledger.commit(TASK, {"answer": "a"}, NEXT, counted=[ANSWERED])

    assert committed == Committed(True, {"answer": "a"})
    assert ledger.open_messages() == {"poem": 0, "scorer": 1}
    assert letters.all() == []
    assert not redis_client.exists(DEAD_REASONS)
    assert set(ledger.journey("t1")) == {"task", "submitted", "owner", "answer", f"{ENDED}answer"}
    assert not read_outcomes(redis_client, ["t1"])["t1"].dead
    counted = redis_client.hgetall(METRICS)
    assert (float(counted[DEAD_COUNTED.field]), float(counted[ANSWERED.field])) == (1, 1), "it has died, and answered"


def test_an_answer_stands_though_the_letter_of_another_run_was_dropped(
    ledger: Ledger, letters: DeadLetters, redis_client: redis.Redis
) -> None:
    letter = letter_for(TASK, GiveUp("It crashed.", "crash"), tries=5)
    letters.add(letter)
    letters.drop(letter)

    ledger.commit(TASK, {"answer": "a"}, NEXT)

    assert "dead" not in ledger.journey("t1")
    assert not read_outcomes(redis_client, ["t1"])["t1"].ended


def test_a_run_that_is_given_up_after_another_answered_leaves_no_letter(
    ledger: Ledger, letters: DeadLetters, redis_client: redis.Redis
) -> None:
    ledger.commit(TASK, {"answer": "a"}, NEXT, counted=[ANSWERED])

    assert not letters.add(letter_for(TASK, GiveUp("It crashed.", "crash"), tries=5))

    assert letters.all() == []
    assert "dead" not in ledger.journey("t1")
    assert DEAD_COUNTED.field not in redis_client.hgetall(METRICS)
    assert not redis_client.exists(DEAD_REASONS)


def test_a_message_that_is_open_though_it_has_ended_is_struck_off_when_it_comes_again(
    ledger: Ledger, redis_client: redis.Redis
) -> None:
    ledger.commit(TASK, {"answer": "a"})
    redis_client.hset(DEAD, "t1", "a letter")
    ledger.revive(TASK)
    assert ledger.open_messages() == {"poem": 1}

    assert ledger.begin(TASK, "incarnation") == (0, {"answer": "a"})

    assert ledger.open_messages() == {"poem": 0}
    assert not redis_client.exists(open_key("poem"), since_key("poem"), MESSAGES)


def test_only_what_was_open_counts_for_the_pace_of_its_queue(ledger: Ledger, redis_client: redis.Redis) -> None:
    ledger.open(TASK)
    ledger.commit(TASK, {"answer": "a"})

    for _ in range(3):
        ledger.begin(TASK, "incarnation")

    assert sum(int(redis_client.get(key)) for key in redis_client.scan_iter("memshare:pace:poem:*")) == 1


@pytest.mark.parametrize("amount", ["nan", "much", "inf"])
def test_an_amount_that_redis_refuses_loses_no_message(amount: str, ledger: Ledger, redis_client: redis.Redis) -> None:
    ledger.open(TASK)
    bad = count("memshare_model_money_total", amount, model="m", agent="poem")

    ledger.commit(TASK, {"answer": "a"}, NEXT, counted=[bad, ANSWERED])

    assert ledger.open_messages() == {"poem": 0, "scorer": 1}
    assert set(redis_client.hgetall(METRICS)) == {ANSWERED.field}
    assert redis_client.hexists(journey_key("t1"), "answer")
