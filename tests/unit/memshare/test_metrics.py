"""What Prometheus is told."""

import json
import time
from uuid import uuid4

import numpy as np
import pytest
import redis
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from memshare.operate.metrics import SharedMetrics
from memshare_broker.connection import connect
from memshare_broker.delivery.dead_letters import DeadLetters, letter_for
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.schema import FAILED, Entry
from memshare_broker.errors import NotYet, TryAgain
from memshare_broker.observe.metrics import COUNTED, METRICS, POOLS, count, observe
from memshare_broker.presence import Presence, announce
from memshare_broker.wire.lessons import Lesson
from memshare_broker.wire.messages import Usage
from memshare_llm.limits.budget import Budget, Cap, Holder
from memshare_llm.limits.usage import Charge, UsageLog
from memshare_memory.belief.bandit import Arm, Arms, Credit, as_shown
from memshare_memory.recall.retriever import PublishedAdapter, adapter_key, version_key
from memshare_trainer.learn import _counted
from memshare_trainer.lesson_log import RETRIEVERS
from tests.support.deployment import patient

Values = dict[tuple[str, ...], float]


def scrape(client: redis.Redis) -> dict[str, Values]:
    """What is exported: by metric, the values by those of the labels, in the order of the labels' names."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(SharedMetrics(client))
    found: dict[str, Values] = {}
    for family in text_string_to_metric_families(generate_latest(registry).decode()):
        for one in family.samples:
            found.setdefault(one.name, {})[tuple(value for _, value in sorted(one.labels.items()))] = one.value
    return found


def entry(name: str, queue: str = "poem") -> Entry:
    return Entry(id=name, task=f"agents.{queue}", queue=queue, body={"prompt": "x"}, journey=name, stage="answer")


@pytest.fixture
def ledger(redis_client: redis.Redis) -> Ledger:
    return Ledger(redis_client, keep_days=1)


def test_without_redis_it_says_so_at_once_and_nothing_else(unused_socket: str) -> None:
    began = time.monotonic()

    assert scrape(connect(unused_socket, tries=0, timeout=1)) == {"memshare_up": {(): 0}}
    assert time.monotonic() - began < patient(5)


@pytest.fixture
def unused_socket(tmp_path) -> str:
    return f"unix://{tmp_path}/nobody.sock"


def test_an_empty_redis_has_every_metric_and_no_values(redis_client: redis.Redis) -> None:
    assert scrape(redis_client) == {"memshare_up": {(): 1}}
    text = generate_latest(SharedMetrics(redis_client)).decode()
    for name, metric in COUNTED.items():
        kind = "histogram" if metric.buckets else "counter" if name.endswith("_total") else "gauge"
        assert f"# TYPE {name} {kind}" in text


def test_how_full_redis_is_is_told_where_it_has_a_bound(redis_client: redis.Redis) -> None:
    redis_client.config_set("maxmemory", 4 * redis_client.info("memory")["used_memory"])
    try:
        [share] = scrape(redis_client)["memshare_redis_memory_used_ratio"].values()
    finally:
        redis_client.config_set("maxmemory", 0)

    assert share == pytest.approx(0.25, abs=0.1)


def test_a_queue_is_told_by_what_waits_is_set_aside_and_is_oldest(ledger: Ledger, redis_client: redis.Redis) -> None:
    for name in ("t1", "t2", "t3"):
        ledger.open(entry(name))
    ledger.open(entry("other", queue="logic"))
    ledger.park(entry("t2"), NotYet("wait", 60, hold="agent poem"))
    redis_client.zadd("memshare:since:poem", {"t1": time.time() - 100})
    redis_client.rpush("poem", "message")
    redis_client.rpush("poem\x06\x166", "message", "message")
    announce(redis_client, Presence(node="w@host", pid=1, incarnation="l", queues=("poem", "scorer")))

    found = scrape(redis_client)

    assert found["memshare_queue_open"] == {("poem",): 3, ("logic",): 1, ("scorer",): 0}
    assert found["memshare_queue_parked"] == {("poem",): 1, ("logic",): 0, ("scorer",): 0}
    assert found["memshare_queue_waiting"] == {("poem",): 3, ("logic",): 0, ("scorer",): 0}
    assert found["memshare_workers"] == {("poem",): 1, ("logic",): 0, ("scorer",): 1}
    assert found["memshare_queue_oldest_seconds"]["poem",] == pytest.approx(100, abs=5)
    assert found["memshare_queue_oldest_seconds"]["scorer",] == 0


def test_the_buckets_of_a_histogram_add_up_from_the_lowest(ledger: Ledger, redis_client: redis.Redis) -> None:
    scores = [sample for score in (5, 85, 86, 100) for sample in observe("memshare_score", score, agent="a", kind="k")]
    ledger.commit(entry("t1"), {}, counted=scores)

    found = scrape(redis_client)

    buckets = found["memshare_score_bucket"]
    assert [buckets["a", "k", f"{bound}.0"] for bound in (10, 80, 90, 100)] == [1, 1, 3, 4]
    assert buckets["a", "k", "+Inf"] == 4
    assert found["memshare_score_count"] == {("a", "k"): 4}
    assert found["memshare_score_sum"] == {("a", "k"): 276}


def test_tries_and_dead_letters_are_told_by_reason(ledger: Ledger, redis_client: redis.Redis) -> None:
    letters = DeadLetters(redis_client, ledger)
    for name in ("t1", "t2"):
        ledger.fail(entry(name), "time-out")
        letters.add(letter_for(entry(name), TryAgain("slow", reason="time-out"), tries=1))
    ledger.revive(entry("t1"))

    found = scrape(redis_client)

    assert found["memshare_failed_tries_total"] == {("time-out",): 2}
    assert found["memshare_dead_letters_total"] == {("time-out",): 2}
    assert found["memshare_dead_letters"] == {("time-out",): 1}


def test_a_cap_is_told_as_the_share_that_is_used(redis_client: redis.Redis) -> None:
    usage = UsageLog(redis_client)
    usage.add(Charge("poem", "ada", "m", Usage(prompt_tokens=30, completion_tokens=20), 1.5))
    usage.flush()
    budget = Budget(redis_client, usage)
    budget.set(Holder("agent", "poem"), Cap(tokens=200, money=2))
    budget.set(Holder("submitter", "bob"), Cap(tokens=0))

    assert scrape(redis_client)["memshare_cap_used_ratio"] == {
        ("agent", "poem", "tokens"): 0.25,
        ("agent", "poem", "money"): 0.75,
        ("submitter", "bob", "tokens"): 1,
    }


def test_pools_and_the_spread_of_credibility(redis_client: redis.Redis) -> None:
    redis_client.set(POOLS, json.dumps({"poem": {"active": 2, "hidden": 1}}))
    x = np.ones(6) / np.sqrt(6)
    Arms(redis_client).add("poem", "t1", [Credit(uuid4(), x, 1.0), Credit(uuid4(), x, 0.0)])

    found = scrape(redis_client)

    assert found["memshare_pool_memories"] == {("poem", "active"): 2, ("poem", "hidden"): 1}
    # p = θᵀx + √(xᵀA⁻¹x) with A = I + xxᵀ and b = r·x: r/2 + 1/√2.
    low, high = 0.5**0.5, 0.5 + 0.5**0.5
    spread = {"0.1": low + 0.05, "0.5": (low + high) / 2, "0.9": high - 0.05}
    assert found["memshare_credibility"] == pytest.approx({("poem", name): p for name, p in spread.items()})


def test_pools_of_ones_own_are_one_pool_however_many_submitters_there_are(redis_client: redis.Redis) -> None:
    redis_client.set(POOLS, json.dumps({"mine/ada": {"active": 2}, "mine/bob": {"active": 3}, "mine": {"active": 1}}))
    x = np.ones(6) / np.sqrt(6)
    for pool in ("mine/ada", "mine/bob"):
        Arms(redis_client).add(pool, "t1", [Credit(uuid4(), x, 1.0)])
        redis_client.sadd(RETRIEVERS, json.dumps([pool, "e"]))

    found = scrape(redis_client)

    assert found["memshare_pool_memories"] == {("mine/{submitter}", "active"): 5, ("mine", "active"): 1}
    assert {pool for pool, _ in found["memshare_credibility"]} == {"mine/{submitter}"}
    assert "memshare_retriever_version" not in found
    [lessons] = _counted("mine/ada", Lesson(outcome="no update", reason="none"))
    assert "ada" not in lessons.field


def test_the_context_of_an_arm_is_the_one_that_it_was_credited_in() -> None:
    x = np.array([3, 2, 1, 0, 0, 1]) / np.sqrt(15)

    assert as_shown(Arm.untried().credited(x, 1.0).credited(x, 0.0)) == pytest.approx(x)


def test_the_retriever_of_a_pool_is_told_by_its_version_and_accuracy(ledger: Ledger, redis_client: redis.Redis) -> None:
    published = PublishedAdapter.pack(3, "e", np.zeros((2, 2), np.float32), accuracy_after=0.75)
    redis_client.sadd(RETRIEVERS, json.dumps(["poem", "e"]), json.dumps(["logic", "e"]))
    redis_client.set(version_key("poem", "e"), 3)
    redis_client.set(adapter_key("poem", "e", 3), published.model_dump_json())
    ledger.commit(entry("t1"), {}, counted=[count("memshare_retriever_refused_total", pool="poem")])

    found = scrape(redis_client)

    assert found["memshare_retriever_version"] == {("poem",): 3, ("logic",): 0}
    assert found["memshare_retriever_accuracy"] == {("poem",): 0.75}
    assert found["memshare_retriever_refused_total"] == {("poem",): 1}


@pytest.mark.parametrize(
    ("key", "value", "where"),
    [
        (METRICS, {"rubbish": "1"}, "counted"),
        (METRICS, {'["memshare_tasks_total", 7]': "1"}, "counted"),
        (METRICS, {'["memshare_tasks_total", {"stage": 7}]': "1"}, "counted"),
        (METRICS, {'["memshare_tasks_total", {"stage": "\\ud800"}]': "1"}, "counted"),
        (METRICS, {'["memshare_tasks_total", {"stage": "x", "outcome": "y"}]': "much"}, "counted"),
        (METRICS, {'["memshare_score_bucket", {"agent": "poem"}]': "1"}, "counted"),
        (METRICS, {'["memshare_score_bucket", {"le": "10.0"}]': "inf"}, "counted"),
        (METRICS, "not even a hash", "counted"),
        (POOLS, "rubbish", "pools"),
        (POOLS, '["poem"]', "pools"),
        (POOLS, '{"poem": 7}', "pool sizes"),
        (POOLS, '{"poem": {"active": "many"}}', "pool sizes"),
        (POOLS, '{"\\ud800": {"active": 1}}', "pool sizes"),
        (FAILED, {"time-out": "often"}, "failed tries"),
        (RETRIEVERS, {"[]", "rubbish"}, "retrievers"),
        ("memshare:credibility:plan", {"m": "rubbish"}, "credibility"),
    ],
)
def test_a_value_that_cannot_be_read_is_left_out_and_counted_and_the_rest_is_told(
    ledger: Ledger, redis_client: redis.Redis, key: str, value: object, where: str
) -> None:
    ledger.open(entry("t1"))
    redis_client.set(POOLS, '{"plan": {"active": 3}}')
    ended = count("memshare_tasks_total", stage="answer", outcome="answered")
    redis_client.hset(METRICS, ended.field, 2)
    assert "memshare_unreadable_values" not in scrape(redis_client)

    if isinstance(value, dict):
        redis_client.hset(key, mapping=value)
    elif isinstance(value, set):
        redis_client.sadd(key, *value)
    else:
        redis_client.set(key, str(value))
    found = scrape(redis_client)

    assert found["memshare_up"] == {(): 1}
    assert found["memshare_unreadable_values"][where,] >= 1
    assert found["memshare_queue_open"] == {("poem",): 1}
    if where != "counted" or isinstance(value, dict):
        assert found["memshare_tasks_total"]["answered", "answer"] == 2
    if key != POOLS:
        assert found["memshare_pool_memories"] == {("plan", "active"): 3}
