"""The ledger, on a real Redis."""

import pytest
import redis

from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.schema import (
    INCARNATIONS,
    UNACKED,
    UNACKED_INDEX,
    CeleryResult,
    Committed,
    Entry,
    Outgoing,
    journey_key,
    open_key,
)
from memshare_broker.errors import NotYet, QueueFull, Reason
from memshare_broker.wire.messages import Cancellation


@pytest.fixture
def ledger(redis_client: redis.Redis) -> Ledger:
    return Ledger(redis_client, keep_days=1)


def entry(name: str = "t1", stage: str = "answer", queue: str = "poem") -> Entry:
    return Entry(
        id=name, task=f"agents.{queue}", queue=queue, body={"prompt": "x"}, journey="t1", stage=stage, begins=True
    )


def sent(entry: Entry) -> Outgoing:
    """A message on its way; its text does not matter here."""
    return Outgoing(entry, entry.queue, f"the message {entry.id}")


def test_an_opened_message_is_open_until_it_is_committed(ledger: Ledger) -> None:
    ledger.open(entry())
    assert ledger.open_messages() == {"poem": 1}

    ledger.commit(entry(), {"answer": "a"})

    assert ledger.open_messages() == {"poem": 0}
    assert ledger.journey("t1")["answer"] == {"answer": "a"}


def test_a_message_is_opened_and_published_in_one_step_and_once(ledger: Ledger, redis_client: redis.Redis) -> None:
    assert [ledger.open(entry(), push=sent(entry())) for _ in range(2)] == [True, False]
    with pytest.raises(QueueFull):
        ledger.open(entry("t2"), limit=1, push=sent(entry("t2")))

    assert redis_client.lrange("poem", 0, -1) == ["the message t1"]


def test_messages_that_follow_none_are_sent_once_and_not_where_they_are_open_or_have_ended(
    ledger: Ledger, redis_client: redis.Redis
) -> None:
    ended, opened, new = (entry(name, name) for name in ("ended", "opened", "new"))
    for one in (ended, opened):
        ledger.open(one)
    ledger.commit(ended, {"answer": "a"})

    for _ in range(2):
        ledger.send([sent(one) for one in (ended, opened, new)])
    ledger.send([])

    assert redis_client.lrange("poem", 0, -1) == ["the message new"]
    assert {one.id for one in ledger.open_of(["ended", "opened", "new"])} == {"opened", "new"}
    assert ledger.open_of([]) == []


def test_nothing_is_sent_of_a_journey_that_was_cancelled(ledger: Ledger, redis_client: redis.Redis) -> None:
    first = entry()
    ledger.open(first)
    ledger.cancel(first, Cancellation(at=1, why="nobody wants it"))

    ledger.send([sent(entry("t2", "extract"))])

    assert not redis_client.exists("poem")


def test_a_message_that_ended_only_hands_on_its_record(ledger: Ledger) -> None:
    ledger.open(entry())
    assert ledger.begin(entry(), "incarnation") == (1, None)
    ledger.commit(entry(), {"answer": "a"})

    assert ledger.begin(entry(), "incarnation") == (0, {"answer": "a"})
    assert ledger.open_messages() == {"poem": 0}


def test_of_two_runs_of_one_message_the_first_record_stands(ledger: Ledger, redis_client: redis.Redis) -> None:
    ledger.begin(entry(), "incarnation")
    ledger.begin(entry(), "incarnation")

    first = ledger.commit(entry(), {"answer": "same"}, [sent(entry("t2", "score", "scorer"))])
    second = ledger.commit(entry(), {"answer": "same"}, [sent(entry("t3", "score", "scorer"))])
    third = ledger.commit(entry(), {"answer": "another"}, [sent(entry("t4", "score", "scorer"))])

    assert first == Committed(True, {"answer": "same"})
    assert second == third == Committed(False, {"answer": "same"})
    assert ledger.open_messages() == {"poem": 0, "scorer": 1}
    assert redis_client.lrange("scorer", 0, -1) == ["the message t2"], "what follows is published once"
    assert ledger.done() == {"answer": 1}


def test_a_message_of_another_client_is_adopted(ledger: Ledger) -> None:
    starts, done = ledger.begin(entry(), "incarnation")

    assert (starts, done) == (1, None)
    assert ledger.open_messages() == {"poem": 1}
    assert ledger.journey("t1")["task"]["body"] == {"prompt": "x"}


def test_a_journey_that_was_forgotten_begins_anew_with_a_message_that_is_open(
    ledger: Ledger, redis_client: redis.Redis
) -> None:
    ledger.open(entry())
    redis_client.delete(journey_key("t1"))

    assert ledger.begin(entry(), "incarnation") == (1, None)

    assert ledger.journey("t1")["task"] == entry().model_dump()


def test_a_commit_acknowledges_its_message_also_when_another_run_was_first(
    ledger: Ledger, redis_client: redis.Redis
) -> None:
    for tag in ("one", "two", "of another message"):
        redis_client.hset(UNACKED, tag, "a message")
        redis_client.zadd(UNACKED_INDEX, {tag: 1})

    for tag in ("one", "two"):
        ledger.commit(entry(), {"answer": "a"}, tag=tag)

    assert redis_client.hkeys(UNACKED) == redis_client.zrange(UNACKED_INDEX, 0, -1) == ["of another message"]


def test_starts_without_an_end_are_counted(ledger: Ledger) -> None:
    assert [ledger.begin(entry(), "incarnation")[0] for _ in range(3)] == [1, 2, 3]

    ledger.park(entry(), NotYet("Busy.", 10, hold="busy"))

    assert ledger.begin(entry(), "incarnation")[0] == 1


def test_a_parked_message_shows_its_next_try_as_its_last_sign_of_life(
    ledger: Ledger, redis_client: redis.Redis
) -> None:
    ledger.begin(entry(), "incarnation")
    before = redis_client.zscore(open_key("poem"), "t1")

    ledger.park(entry(), NotYet("Busy.", 100, hold="busy"))

    assert redis_client.zscore(open_key("poem"), "t1") == pytest.approx(before + 100, abs=5)


def test_a_dead_letter_is_not_begun_until_it_is_revived(ledger: Ledger) -> None:
    ledger.open(entry())
    ledger.bury(entry(), '{"why": "x"}')

    assert ledger.begin(entry(), "incarnation") == (-1, None)
    assert ledger.open(entry()) is False
    assert ledger.journey("t1")["dead"] == {"why": "x"}

    assert ledger.revive(entry()) is True
    assert ledger.revive(entry()) is False
    assert ledger.begin(entry(), "incarnation") == (1, None)
    assert "dead" not in ledger.journey("t1")


def test_a_task_id_that_was_answered_is_not_opened_again(ledger: Ledger) -> None:
    ledger.open(entry())
    ledger.commit(entry(), {"answer": "a"})

    assert ledger.open(entry()) is False
    assert ledger.open_messages() == {"poem": 0}


def test_a_message_that_is_open_is_not_opened_again_and_keeps_its_last_sign_of_life(
    ledger: Ledger, redis_client: redis.Redis
) -> None:
    assert ledger.open(entry()) is True
    seen = redis_client.zscore(open_key("poem"), "t1")

    assert ledger.open(entry()) is False
    assert redis_client.zscore(open_key("poem"), "t1") == seen


def test_a_task_that_was_given_up_is_not_opened_again_even_when_its_dead_letter_was_dropped(
    ledger: Ledger, redis_client: redis.Redis
) -> None:
    ledger.begin(entry(), "incarnation")
    ledger.bury(entry(), '{"error": "no"}')
    assert ledger.open(entry()) is False

    redis_client.hdel("memshare:dead", "t1")

    assert ledger.open(entry()) is False


def test_what_is_taken_after_it_has_ended_leaves_no_note(ledger: Ledger, redis_client: redis.Redis) -> None:
    ledger.open(entry())
    ledger.commit(entry(), {"answer": "a"})
    redis_client.hset(INCARNATIONS, "t1", "incarnation")

    ledger.begin(entry(), "incarnation")

    assert redis_client.hgetall(INCARNATIONS) == {}


def test_a_parked_message_waits_beside_its_queue_until_its_time_has_come(ledger: Ledger) -> None:
    for name, wait in (("t1", 1_000.0), ("t2", -1.0)):
        ledger.begin(entry(name), "incarnation")
        ledger.park(entry(name), NotYet("The cap is reached.", wait, hold="agent poem"))

    assert [(one.id, one.queue, one.why) for one in ledger.parked.all()] == [
        ("t2", "poem", "The cap is reached."),
        ("t1", "poem", "The cap is reached."),
    ]
    assert ledger.open_messages() == {"poem": 2}
    assert [one.id for one in ledger.parked.release(10)] == ["t2"]
    assert ledger.parked.release(10) == []
    assert ledger.parked.why("t2") is None
    assert ledger.parked.why("t1").hold == "agent poem"


def test_what_is_lifted_goes_on_at_once_and_nothing_else(ledger: Ledger) -> None:
    for name, hold in (("t1", "agent poem"), ("t2", "agent logic")):
        ledger.begin(entry(name), "incarnation")
        ledger.park(entry(name), NotYet("Later.", 1_000, hold=hold))

    assert ledger.parked.lift("agent poem") == 1
    assert ledger.parked.lift("agent plan") == 0

    assert [one.id for one in ledger.parked.release(10)] == ["t1"]
    assert [one.id for one in ledger.parked.all()] == ["t2"]


def test_what_is_parked_just_after_its_hold_was_lifted_is_looked_at_again_at_once(ledger: Ledger) -> None:
    ledger.begin(entry(), "incarnation")
    ledger.parked.lift("agent poem")

    ledger.park(entry(), NotYet("Later.", 1_000, hold="agent poem"))

    assert [one.id for one in ledger.parked.release(10)] == ["t1"]


def test_a_parked_message_that_ends_otherwise_waits_no_more(ledger: Ledger) -> None:
    ledger.begin(entry(), "incarnation")
    ledger.park(entry(), NotYet("Later.", -1, hold="agent poem"))

    ledger.commit(entry(), {"answer": "a"})

    assert ledger.parked.all() == []
    assert ledger.parked.release(10) == []


def test_failures_are_counted_by_message_and_by_reason(ledger: Ledger) -> None:
    ledger.begin(entry(), "incarnation")

    tries = [ledger.fail(entry(), "time-out")[0] for _ in range(3)]
    other, seconds, _ = ledger.fail(entry("t2"), "server error")

    assert tries == [1, 2, 3]
    assert (other, seconds) == (1, 0.0)
    assert ledger.fail(entry(), "time-out")[1] > 0
    assert ledger.failed() == {"time-out": 4, "server error": 1}


def test_an_outage_counts_no_try_and_what_was_paid_for_is_counted_apart(ledger: Ledger) -> None:
    ledger.begin(entry(), "incarnation")
    reasons: list[Reason] = ["model away", "rate limit", "time-out", "cut off", "model away", "invalid reply"]

    failed = [ledger.fail(entry(), reason) for reason in reasons]

    assert [one.tries for one in failed] == [0, 0, 1, 2, 2, 3]
    assert [one.paid for one in failed] == [0, 0, 0, 1, 1, 2]


def test_a_task_that_is_held_back_while_another_was_refused_is_no_failed_try(ledger: Ledger) -> None:
    ledger.begin(entry(), "incarnation")
    ledger.fail(entry("t2"), "rate limit")

    first = ledger.fail(entry(), "rate limit", asked=False)

    assert ledger.failed() == {"rate limit": 1}
    assert ledger.fail(entry(), "rate limit", asked=False).seconds > first.seconds, "it is not held for ever"


def test_a_dead_letter_that_is_revived_has_all_its_tries_again(ledger: Ledger) -> None:
    ledger.begin(entry(), "incarnation")
    ledger.fail(entry(), "time-out")
    ledger.bury(entry(), "{}")
    ledger.revive(entry())

    assert ledger.fail(entry(), "time-out")[0] == 1


def test_a_full_queue_refuses_what_is_new_and_says_when_to_come_back(ledger: Ledger) -> None:
    for name in ("t1", "t2"):
        assert ledger.open(entry(name), limit=2)

    with pytest.raises(QueueFull, match="'poem' is full: 2 messages are open, and 2 is the limit") as full:
        ledger.open(entry("t3"), limit=2)
    assert (full.value.length, full.value.wait) == (2, 60)
    assert ledger.open(entry("t1"), limit=2) is False, "what it has already is not refused"

    ledger.commit(entry("t1"), {"answer": "a"})

    assert ledger.open(Entry(**entry("t3").model_dump() | {"journey": "t3"}), limit=2)


def test_a_full_queue_that_is_worked_off_asks_to_come_back_sooner(ledger: Ledger) -> None:
    names = [f"t{number}" for number in range(30)]
    entries = [Entry(**entry(name).model_dump() | {"journey": name}) for name in names]
    for one in entries:
        ledger.open(one)
    for one in entries[:20]:
        ledger.commit(one, {"answer": "a"})

    with pytest.raises(QueueFull) as full:
        ledger.open(Entry(**entry("new").model_dump() | {"journey": "new"}), limit=10)

    assert full.value.wait == 5


def test_the_result_is_told_with_the_record_and_once(ledger: Ledger, redis_client: redis.Redis) -> None:
    ledger.begin(entry(), "incarnation")
    for text in ("first", "second"):
        ledger.commit(entry(), {"answer": text}, result=CeleryResult("celery-task-meta-t1", text, 60))

    assert redis_client.get("celery-task-meta-t1") == "first"
    assert 0 < redis_client.ttl("celery-task-meta-t1") <= 60
