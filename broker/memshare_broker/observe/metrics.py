"""Metrics counted in Redis, by the script that records the effect, so that each counts once, whatever is killed.

`memshare metrics` shows them to Prometheus (`memshare.operate.metrics`).
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable
from math import isfinite
from typing import NamedTuple

METRICS = "memshare:metrics"  # hash: JSON of [metric, {label: value}] → sum
DEAD_REASONS = "memshare:dead:reasons"  # hash: id of a dead letter → why it died
POOLS = "memshare:pools"  # JSON: pool → status → memories, as the owner of the store saw them last
NOW = "now"  # in place of an amount: the time of Redis when it was recorded, which takes the place of what was there

SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160)  # that a model takes
SHORT_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)  # that recall takes
SCORES = tuple(range(10, 101, 10))
SIMILARITIES = tuple(tenth / 10 for tenth in range(11))


class Metric(NamedTuple):
    """A metric that is counted in Redis; a histogram has the upper bounds of its buckets, ascending."""

    name: str
    help: str
    labels: tuple[str, ...]
    buckets: tuple[float, ...] = ()


class Sample(NamedTuple):
    """An amount to add to one field of the metrics: a number as text, or `NOW`."""

    field: str
    by: str


COUNTED = {
    metric.name: metric
    for metric in (
        Metric("memshare_tasks_total", "Messages that ended, by stage and outcome.", ("stage", "outcome")),
        Metric("memshare_dead_letters_total", "Messages that became dead letters, by reason.", ("reason",)),
        Metric("memshare_model_calls_total", "Calls of chat models that got a reply.", ("model", "agent")),
        Metric(
            "memshare_model_tokens_total", "Tokens that calls took (cached: of the prompt).", ("model", "agent", "type")
        ),
        Metric("memshare_model_money_total", "What calls cost, in the currency of the prices.", ("model", "agent")),
        Metric("memshare_model_seconds", "Seconds until a model replied, waits for limits apart.", ("model",), SECONDS),
        Metric("memshare_calls_total", "Calls by what they were for and how they ended.", ("model", "lane", "outcome")),
        Metric("memshare_call_seconds_total", "Seconds of these calls.", ("model", "lane", "outcome")),
        Metric("memshare_call_tokens_total", "Tokens of these calls, of prompts and completions.", ("model", "lane")),
        Metric("memshare_prompts_cut_total", "Prompts of answers that a server cut.", ("model",)),
        Metric("memshare_score", "Scores of answers to tasks, 0 to 100.", ("agent", "kind"), SCORES),
        Metric("memshare_graded_total", "Graded answers, by whether they are good.", ("agent", "kind", "accepted")),
        Metric(
            "memshare_recall_seconds",
            "Seconds to recall: to encode a task and search; in an engine, one search.",
            ("agent",),
            SHORT_SECONDS,
        ),
        Metric("memshare_shown_similarity", "Cosines of tasks and memories shown.", ("agent",), SIMILARITIES),
        Metric("memshare_retriever_refused_total", "Versions refused for ranking worse.", ("pool",)),
        Metric("memshare_lessons_total", "Messages that the trainer was through with.", ("pool",)),
        Metric("memshare_last_lesson_timestamp_seconds", "When a lesson was last learnt or held out.", ("pool",)),
    )
}


def count(name: str, by: float | str = 1, **labels: str) -> Sample:
    """So much more of a counter; what is no finite number adds nothing. Raises `KeyError` for a metric or label that
    there is not."""
    metric = COUNTED[name]
    if metric.buckets:
        raise KeyError(name)
    return _sample(name, {label: labels[label] for label in metric.labels}, by)


def observe(name: str, value: float, **labels: str) -> tuple[Sample, ...]:
    """Samples of a value in a histogram: its bucket, not cumulative here, and the sum; none if it is not finite."""
    metric = COUNTED[name]
    known = {label: labels[label] for label in metric.labels}
    if not isfinite(value):
        return ()
    place = bisect_left(metric.buckets, value)
    bound = repr(float(metric.buckets[place])) if place < len(metric.buckets) else "+Inf"
    return _sample(f"{name}_bucket", known | {"le": bound}, 1), _sample(f"{name}_sum", known, value)


def flat(samples: Iterable[Sample]) -> list[str]:
    """Samples as the scripts take them: field and amount, in turn."""
    return [part for sample in samples for part in sample]


def read_field(field: str) -> tuple[str, dict[str, str]]:
    """The metric and the labels of a field; raises `ValueError` for a field of another form."""
    match json.loads(field):
        case [str() as name, dict() as labels] if all(isinstance(value, str) for value in labels.values()):
            "".join((name, *labels, *labels.values())).encode()  # refuses what is no text, such as a lone surrogate
            return name, labels
    raise ValueError(f"{field!r} is not [metric, {{label: value}}]")


def _sample(name: str, labels: dict[str, str], by: float | str) -> Sample:
    if not isinstance(by, str):
        by = repr(float(by)) if isfinite(by) else "0"
    return Sample(json.dumps([name, labels], sort_keys=True), by)
