"""Counting in Redis, in the step that records the effect."""

import time

import numpy as np
import pytest
import redis

from memshare_broker.delivery.dead_letters import DeadLetters, letter_for
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.schema import Entry, since_key
from memshare_broker.errors import GiveUp, NotYet, TryAgain
from memshare_broker.observe.metrics import METRICS, NOW, count, observe, read_field
from memshare_broker.wire.messages import Usage
from memshare_llm.limits.usage import Charge, UsageLog

ENDED = count("memshare_tasks_total", stage="answer", outcome="answered")


@pytest.fixture
def ledger(redis_client: redis.Redis) -> Ledger:
    return Ledger(redis_client, keep_days=1)


def entry(name: str = "t1") -> Entry:
    return Entry(id=name, task="agents.poem", queue="poem", body={"prompt": "x"}, journey=name, stage="answer")


def counted(client: redis.Redis, name: str) -> dict[tuple[str, ...], float]:
    """The sums of a metric by its labels' values, in the order of the labels' names."""
    fields = {field: float(value) for field, value in client.hgetall(METRICS).items()}
    return {
        tuple(value for _, value in sorted(read_field(field)[1].items())): amount
        for field, amount in fields.items()
        if read_field(field)[0] == name
    }


def test_a_message_that_runs_twice_is_counted_once(ledger: Ledger, redis_client: redis.Redis) -> None:
    similarities = observe("memshare_shown_similarity", 0.35, agent="poem")
    for _ in range(2):
        ledger.begin(entry(), "life")
    for _ in range(2):
        ledger.commit(entry(), {"answer": "a"}, counted=(ENDED, *similarities))

    assert counted(redis_client, "memshare_tasks_total") == {("answered", "answer"): 1}
    assert counted(redis_client, "memshare_shown_similarity_bucket") == {("poem", "0.4"): 1}
    assert counted(redis_client, "memshare_shown_similarity_sum") == {("poem",): 0.35}


@pytest.mark.parametrize(("value", "bound"), [(0, "10.0"), (10, "10.0"), (10.5, "20.0"), (100, "100.0"), (101, "+Inf")])
def test_a_value_is_in_the_bucket_of_the_least_bound_that_it_does_not_exceed(value: float, bound: str) -> None:
    bucket, total = observe("memshare_score", value, agent="poem", kind="")

    assert read_field(bucket.field) == ("memshare_score_bucket", {"agent": "poem", "kind": "", "le": bound})
    assert float(total.by) == value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float64("nan")])
def test_what_is_no_finite_number_adds_nothing(value: float, ledger: Ledger, redis_client: redis.Redis) -> None:
    of = {"model": "m", "agent": "poem"}
    samples = (count("memshare_model_money_total", value, **of), *observe("memshare_score", value, agent="a", kind=""))
    more = count("memshare_model_money_total", np.float64(0.5), **of)

    ledger.commit(entry(), {}, counted=(*samples, more))

    assert counted(redis_client, "memshare_model_money_total") == {("poem", "m"): 0.5}
    assert counted(redis_client, "memshare_score_bucket") == counted(redis_client, "memshare_score_sum") == {}


@pytest.mark.parametrize(("name", "labels"), [("memshare_taskss_total", {}), ("memshare_tasks_total", {"stage": "x"})])
def test_a_metric_or_label_that_there_is_not_cannot_be_counted(name: str, labels: dict[str, str]) -> None:
    with pytest.raises(KeyError):
        count(name, **labels)


def test_a_time_takes_the_place_of_the_one_before(ledger: Ledger, redis_client: redis.Redis) -> None:
    for name in ("t1", "t2"):
        done = count("memshare_last_lesson_timestamp_seconds", NOW, pool="poem")
        ledger.commit(entry(name), {}, counted=[done])

    (at,) = counted(redis_client, "memshare_last_lesson_timestamp_seconds").values()
    assert at == pytest.approx(time.time(), abs=60)


def test_a_dead_letter_counts_each_time_that_it_dies(ledger: Ledger, redis_client: redis.Redis) -> None:
    letters = DeadLetters(redis_client, ledger)
    letter = letter_for(entry(), TryAgain("slow", reason="time-out"), tries=3)
    letters.add(letter)
    letters.add(letter)
    assert counted(redis_client, "memshare_dead_letters_total") == {("time-out",): 1}

    ledger.revive(entry())
    assert redis_client.hgetall("memshare:dead:reasons") == {}
    letters.add(letter_for(entry(), GiveUp("no", "refused"), tries=1))

    assert counted(redis_client, "memshare_dead_letters_total") == {("time-out",): 1, ("refused",): 1}
    assert counted(redis_client, "memshare_tasks_total") == {("dead", "answer"): 2}
    assert redis_client.hgetall("memshare:dead:reasons") == {"t1": "refused"}
    letters.drop(letter)
    assert redis_client.hgetall("memshare:dead:reasons") == {}


def test_an_open_message_keeps_the_time_at_which_it_was_opened(ledger: Ledger, redis_client: redis.Redis) -> None:
    ledger.open(entry())
    opened = redis_client.zscore(since_key("poem"), "t1")
    ledger.begin(entry(), "life")
    ledger.park(entry(), NotYet("Busy.", -1, hold="busy"), ages=True)
    assert ledger.parked.release(10)
    ledger.begin(entry(), "life")

    assert redis_client.zscore(since_key("poem"), "t1") == opened
    ledger.commit(entry(), {})
    assert redis_client.zcard(since_key("poem")) == 0


def test_the_age_of_a_message_does_not_grow_while_it_waits_beside_its_queue(
    ledger: Ledger, redis_client: redis.Redis
) -> None:
    ledger.open(entry())
    redis_client.zadd(since_key("poem"), {"t1": 1})
    ledger.begin(entry(), "life")

    ledger.park(entry(), NotYet("The cap is reached.", -1, hold="agent poem"))
    assert redis_client.zcard(since_key("poem")) == 0
    ledger.parked.release(10)

    assert redis_client.zscore(since_key("poem"), "t1") == pytest.approx(redis_client.time()[0], abs=60)


def test_a_message_that_waited_beside_its_queue_and_was_begun_otherwise_has_an_age(
    ledger: Ledger, redis_client: redis.Redis
) -> None:
    ledger.open(entry())
    ledger.park(entry(), NotYet("The cap is reached.", 1_000, hold="agent poem"))

    ledger.begin(entry(), "life")

    assert redis_client.zcard(since_key("poem")) == 1


def test_calls_are_counted_for_ever_and_once_a_batch(redis_client: redis.Redis) -> None:
    usage = UsageLog(redis_client)
    usage.took("openai:m", 0.3)
    usage.add(Charge("poem", "ada", "openai:m", Usage(prompt_tokens=10, completion_tokens=5), 0.25))
    usage.add(Charge("", "ada", "openai:m", Usage(prompt_tokens=1), 0.5))
    usage.flush()

    assert counted(redis_client, "memshare_model_calls_total") == {("poem", "openai:m"): 1, ("", "openai:m"): 1}
    tokens = counted(redis_client, "memshare_model_tokens_total")
    assert tokens["poem", "openai:m", "prompt"] == 10
    assert tokens["poem", "openai:m", "completion"] == 5
    assert counted(redis_client, "memshare_model_money_total")["poem", "openai:m"] == 0.25
    assert counted(redis_client, "memshare_model_seconds_bucket") == {("0.5", "openai:m"): 1}
    assert redis_client.ttl(METRICS) == -1
