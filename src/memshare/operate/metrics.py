"""Prometheus metrics of all workers of one Redis, read from there at each scrape."""

from __future__ import annotations

import json
import logging
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import isfinite

import numpy as np
import redis
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from redis.exceptions import ResponseError

from memshare_broker.delivery.ledger import failed_tries, queue_states
from memshare_broker.observe.metrics import COUNTED, DEAD_REASONS, METRICS, POOLS, read_field
from memshare_broker.presence import present
from memshare_broker.wire.spaces import owner_of, space_of
from memshare_llm.limits.budget import Budget
from memshare_llm.limits.concurrency import MISFITS, misfits_in_a_row, servers_now
from memshare_llm.limits.usage import UsageLog
from memshare_memory.belief.bandit import BANDIT, Arms, Bandit, as_shown, upper_bounds
from memshare_memory.encoders.encoder import ENCODER
from memshare_memory.memory import UNTRIED
from memshare_memory.recall.retriever import PublishedAdapter, adapter_key, version_key
from memshare_trainer.lesson_log import RETRIEVERS

log = logging.getLogger(__name__)

ARMS_READ = 1_000  # of a pool; of more, as many by chance
QUANTILES = (0.1, 0.5, 0.9)


class SharedMetrics(Collector):
    """The metrics of one Redis; while it does not answer, `memshare_up` is 0 and there is nothing else."""

    def __init__(self, client: redis.Redis, bandit: Bandit = BANDIT) -> None:
        self._client = client
        self._arms = Arms(client, bandit=bandit)
        self._usage = UsageLog(client)
        self._budget = Budget(client, self._usage)
        self._accuracy: dict[str, tuple[str, float | None]] = {}  # by pool, with the key read: a version stays as it is

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("memshare_up", "Whether Redis answers.")
        unreadable = UnreadableMetrics()
        parts = (self._memory, self._counted, self._queues, self._models, self._pools, self._retrievers, self._caps)
        found: list[Metric] = []
        try:
            for part in parts:
                with unreadable.skipping(part.__name__.lstrip("_")):
                    found.extend(part(unreadable))
        except redis.RedisError:
            up.add_metric([], 0)
            yield up
            return
        up.add_metric([], 1)
        yield from (up, *found, unreadable.metric())

    def _memory(self, _unreadable: UnreadableMetrics) -> Iterator[Metric]:
        memory = self._client.info("memory")
        most = float(memory["maxmemory"])
        about = "Share of its maxmemory that Redis has used; nothing where it has none."
        yield _gauge("memshare_redis_memory_used_ratio", about, [], {(): memory["used_memory"] / most} if most else {})

    def _counted(self, unreadable: UnreadableMetrics) -> Iterator[Metric]:
        with self._client.pipeline(transaction=False) as ask:
            ask.hgetall(METRICS)
            ask.hvals(DEAD_REASONS)
            counted, dead = ask.execute()
        yield from families(counted, unreadable)
        tries = CounterMetricFamily("memshare_failed_tries", "Tries that failed, by reason.", labels=["reason"])
        for reason, number in sorted(failed_tries(self._client).items()):
            with unreadable.skipping("failed tries"):
                tries.add_metric([reason], float(number))
        yield tries
        yield _gauge("memshare_dead_letters", "Dead letters there are, by reason.", ["reason"], _one(Counter(dead)))

    def _queues(self, _unreadable: UnreadableMetrics) -> Iterator[Metric]:
        workers = Counter(queue for worker in present(self._client) for queue in worker.queues)
        states = queue_states(self._client, workers)
        serving = {queue: workers[queue] for queue in states}
        yield _gauge("memshare_workers", "Workers that serve the queue.", ["queue"], _one(serving))
        for name, about, field in (
            ("open", "Messages accepted and not ended.", "open"),
            ("waiting", "Messages that no worker has yet.", "waiting"),
            ("parked", "Messages that wait beside the queue.", "parked"),
            ("oldest_seconds", "Age of the oldest open message not set aside.", "oldest"),
        ):
            values = {queue: getattr(state, field) for queue, state in states.items()}
            yield _gauge(f"memshare_queue_{name}", about, ["queue"], _one(values))

    def _models(self, _unreadable: UnreadableMetrics) -> Iterator[Metric]:
        about = f"Replies in a row that were of no use; from {MISFITS} on the model is asked for no more of these."
        yield _gauge("memshare_model_misfits", about, ["model", "lane", "kind"], misfits_in_a_row(self._client))
        servers = servers_now(self._client)
        for name, about in (
            ("limit", "Calls that the model's server may have at once, as found by itself."),
            ("calls", "Calls that have begun."),
            ("waiting", "Calls that wait for a place."),
        ):
            values = {there.address: getattr(there, name) for there in servers}
            yield _gauge(f"memshare_model_server_{name}", about, ["server"], _one(values))

    def _pools(self, unreadable: UnreadableMetrics) -> Iterator[Metric]:
        pools: dict[str, dict[str, int]] = json.loads(self._client.get(POOLS) or "{}")
        sizes, spaces = Counter[tuple[str, ...]](), defaultdict[str, list[str]](list)
        for pool, by in pools.items():
            with unreadable.skipping("pool sizes"):
                pool.encode()  # a lone surrogate would end the whole reply
                spaces[space_of(pool)].append(pool)
                sizes.update({(space_of(pool), status): int(number) for status, number in by.items()})
        yield _gauge("memshare_pool_memories", "Memories, by status.", ["pool", "status"], sizes)
        spread: dict[tuple[str, ...], float] = {}
        for space, of in sorted(spaces.items()):
            with unreadable.skipping("credibility"):
                arms = [arm for pool in of for arm in self._arms.some(pool, ARMS_READ) if arm.credits]
                tried = [arm for arm in arms if arm.is_tried]
                if arms:
                    known = upper_bounds(tried, np.array([as_shown(arm) for arm in tried]), self._arms.bandit.alpha)
                    bounds = [*known, *[UNTRIED] * (len(arms) - len(tried))]
                    for quantile, p in zip(QUANTILES, np.quantile(bounds, QUANTILES), strict=True):
                        spread[space, str(quantile)] = float(p)
        about = "Credibility p of the memories that were shown and graded, as they were shown."
        yield _gauge("memshare_credibility", about, ["pool", "quantile"], spread)

    def _retrievers(self, unreadable: UnreadableMetrics) -> Iterator[Metric]:
        with self._client.pipeline(transaction=False) as ask:
            ask.get(ENCODER)
            ask.smembers(RETRIEVERS)
            encoder, known = ask.execute()
        pairs = []
        for text in sorted(known):
            with unreadable.skipping("retrievers"):
                pool, of = json.loads(text)
                if owner_of(pool) is None:  # a retriever of each submitter's own pool has no figure with others
                    pairs.append((str(pool), str(of)))
        pools = [pool for pool, of in pairs if encoder in (None, of)]
        encoders = {pool: of for pool, of in pairs if encoder in (None, of)}
        texts = self._client.mget([version_key(pool, encoders[pool]) for pool in pools]) if pools else []
        versions: dict[str, int] = {}
        for pool, text in zip(pools, texts, strict=True):
            with unreadable.skipping("retriever versions"):
                versions[pool] = int(text or 0)
        about = "Version of the retriever in use; 0 has learnt nothing."
        yield _gauge("memshare_retriever_version", about, ["pool"], _one(versions))
        known_ones: dict[str, float] = {}
        for pool, version in versions.items():
            with unreadable.skipping("adapters"):
                accuracy = self._accuracy_of(pool, encoders[pool], version)
                if accuracy is not None:
                    known_ones[pool] = accuracy
        about = "How likely what that version ranks first helps, on what was held out when it was published."
        yield _gauge("memshare_retriever_accuracy", about, ["pool"], _one(known_ones))

    def _accuracy_of(self, pool: str, encoder: str, version: int) -> float | None:
        if not version:
            return None
        key = adapter_key(pool, encoder, version)
        if self._accuracy.get(pool, ("", None))[0] != key:
            text = self._client.get(key)
            self._accuracy[pool] = (key, PublishedAdapter.model_validate_json(text).accuracy_after if text else None)
        return self._accuracy[pool][1]

    def _caps(self, _unreadable: UnreadableMetrics) -> Iterator[Metric]:
        caps = self._budget.caps()
        ratios: dict[tuple[str, ...], float] = {}
        for (holder, cap), used in zip(caps.items(), self._usage.used(list(caps)) if caps else [], strict=True):
            for unit, most, spent in (("tokens", cap.tokens, used.tokens), ("money", cap.money, used.money)):
                if most is not None:
                    ratios[holder.kind, holder.name, unit] = spent / most if most else 1.0
        about = "Share of a day's cap that is used."
        yield _gauge("memshare_cap_used_ratio", about, ["holder", "name", "unit"], ratios)


class UnreadableMetrics:
    """Counts what lies in Redis and is no value of ours: it is left out, and the rest is told."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    @contextmanager
    def skipping(self, where: str) -> Iterator[None]:
        """Skip the rest of the block where something in it cannot be read."""
        try:
            yield
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, ResponseError) as error:
            self._counts[where] += 1
            log.warning("A value of the metrics (%s) cannot be read, and is left out: %s", where, error)

    def metric(self) -> Metric:
        """How many there are."""
        about = "Values in Redis that cannot be read, and are left out."
        return _gauge("memshare_unreadable_values", about, ["where"], _one(self._counts))


def families(counted: Mapping[str, str], unreadable: UnreadableMetrics) -> list[Metric]:
    """The metrics counted in Redis, in Prometheus's form; a metric without samples is there, too."""
    values: defaultdict[str, list[tuple[dict[str, str], float]]] = defaultdict(list)
    for field, text in sorted(counted.items()):
        with unreadable.skipping("counted"):
            name, labels = read_field(field)
            value = float(text)
            if not isfinite(value) or (name.endswith("_bucket") and "le" not in labels):
                raise ValueError(f"{field!r} has the value {text!r}")
            values[name].append((labels, value))
    made: list[Metric] = []
    for metric in COUNTED.values():
        family: CounterMetricFamily | GaugeMetricFamily
        if metric.buckets:
            made.append(_histogram(metric.name, values))
            continue
        if metric.name.endswith("_total"):
            family = CounterMetricFamily(metric.name.removesuffix("_total"), metric.help, labels=metric.labels)
        else:
            family = GaugeMetricFamily(metric.name, metric.help, labels=metric.labels)
        for of, value in values[metric.name]:
            family.add_metric([of.get(label, "") for label in metric.labels], value)
        made.append(family)
    return made


def _histogram(name: str, values: Mapping[str, list[tuple[dict[str, str], float]]]) -> Metric:
    """Its buckets are counted one by one, and shown added up from the lowest."""
    metric = COUNTED[name]
    family = HistogramMetricFamily(name, metric.help, labels=metric.labels)
    counts: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for labels, value in values.get(f"{name}_bucket", []):
        counts[tuple(labels.get(label, "") for label in metric.labels)][labels["le"]] += int(value)
    sums = {tuple(of.get(label, "") for label in metric.labels): v for of, v in values.get(f"{name}_sum", [])}
    for of, bucket in counts.items():
        below, buckets = 0, []
        for bound in (*(repr(float(bound)) for bound in metric.buckets), "+Inf"):
            below += bucket[bound]
            buckets.append((bound, below))
        family.add_metric(of, buckets=buckets, sum_value=sums.get(of, 0.0))
    return family


def _one(values: Mapping[str, float]) -> dict[tuple[str, ...], float]:
    return {(name,): value for name, value in values.items()}


def _gauge(name: str, about: str, labels: list[str], values: Mapping[tuple[str, ...], float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, about, labels=labels)
    for of, value in sorted(values.items()):
        family.add_metric(of, value)
    return family
