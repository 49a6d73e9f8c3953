"""The ledger, on a real Redis."""

import pytest
import redis

from broker.ledger import Entry, Ledger, open_key


@pytest.fixture
def ledger(redis_client: redis.Redis) -> Ledger:
    return Ledger(redis_client, keep_days=1)


def entry(name: str = "t1", stage: str = "answer", queue: str = "poem") -> Entry:
    return Entry(id=name, task=f"agents.{queue}", queue=queue, body={"prompt": "x"}, journey="t1", stage=stage)


def test_an_opened_message_is_open_until_it_is_committed(ledger: Ledger) -> None:
    ledger.open(entry())
    assert ledger.open_messages() == {"poem": 1}

    ledger.commit(entry(), {"answer": "a"}, None)

    assert ledger.open_messages() == {"poem": 0}
    assert ledger.journey("t1")["answer"] == {"answer": "a"}


def test_a_message_that_ended_only_hands_on_its_record(ledger: Ledger) -> None:
    ledger.open(entry())
    assert ledger.begin(entry(), "life") == (1, None)
    ledger.commit(entry(), {"answer": "a"}, None)

    assert ledger.begin(entry(), "life") == (0, {"answer": "a"})
    assert ledger.open_messages() == {"poem": 0}


def test_of_two_runs_of_one_message_the_first_record_stands(ledger: Ledger) -> None:
    ledger.begin(entry(), "life")
    ledger.begin(entry(), "life")

    first = ledger.commit(entry(), {"answer": "first"}, entry("t2", "score", "scorer"))
    second = ledger.commit(entry(), {"answer": "second"}, entry("t3", "score", "scorer"))

    assert first == second == {"answer": "first"}
    assert ledger.open_messages() == {"poem": 0, "scorer": 1}
    assert ledger.done() == {"answer": 1}


def test_a_message_of_another_client_is_adopted(ledger: Ledger) -> None:
    starts, done = ledger.begin(entry(), "life")

    assert (starts, done) == (1, None)
    assert ledger.open_messages() == {"poem": 1}
    assert ledger.journey("t1")["task"]["body"] == {"prompt": "x"}


def test_starts_without_an_end_are_counted(ledger: Ledger) -> None:
    assert [ledger.begin(entry(), "life")[0] for _ in range(3)] == [1, 2, 3]

    ledger.postpone(entry(), 10)

    assert ledger.begin(entry(), "life")[0] == 1


def test_a_postponed_message_shows_its_next_try_as_its_last_sign_of_life(
    ledger: Ledger, redis_client: redis.Redis
) -> None:
    ledger.begin(entry(), "life")
    before = redis_client.zscore(open_key("poem"), "t1")

    ledger.postpone(entry(), 100)

    assert redis_client.zscore(open_key("poem"), "t1") == pytest.approx(before + 100, abs=5)


def test_a_dead_letter_is_not_begun_until_it_is_revived(ledger: Ledger) -> None:
    ledger.open(entry())
    ledger.bury(entry(), '{"why": "x"}')

    assert ledger.begin(entry(), "life") == (-1, None)
    assert ledger.open(entry()) is False
    assert ledger.journey("t1")["dead"] == {"why": "x"}

    assert ledger.revive(entry()) is True
    assert ledger.revive(entry()) is False
    assert ledger.begin(entry(), "life") == (1, None)
    assert "dead" not in ledger.journey("t1")


def test_a_task_id_that_was_answered_is_not_opened_again(ledger: Ledger) -> None:
    ledger.open(entry())
    ledger.commit(entry(), {"answer": "a"}, None)

    assert ledger.open(entry()) is False
    assert ledger.open_messages() == {"poem": 0}


def test_a_message_that_a_worker_took_off_its_queue_is_noted_with_its_life(
    ledger: Ledger, redis_client: redis.Redis
) -> None:
    ledger.open(entry())

    ledger.hold("t1", "life")
    ledger.hold("a message without an entry", "life")

    assert redis_client.hgetall("memshare:lives") == {"t1": "life"}


def test_what_is_taken_after_it_has_ended_leaves_no_note(ledger: Ledger, redis_client: redis.Redis) -> None:
    ledger.open(entry())
    ledger.hold("t1", "life")
    ledger.commit(entry(), {"answer": "a"}, None)
    redis_client.hset("memshare:lives", "t1", "life")

    ledger.begin(entry(), "life")

    assert redis_client.hgetall("memshare:lives") == {}
