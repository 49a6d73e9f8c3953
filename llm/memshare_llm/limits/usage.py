"""Usage of chat models, by UTC day, in Redis: for each agent, each submitter and each model."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple
from uuid import uuid4

import redis
from redis.exceptions import RedisError

from memshare_broker.observe.metrics import METRICS, Sample, count, observe
from memshare_broker.scripts import Script
from memshare_broker.steady_thread import steady_thread
from memshare_broker.wire.messages import Usage
from memshare_broker.worker import before_the_end

log = logging.getLogger(__name__)

KEEP = 2 * 86_400  # seconds; a day is read as long as it lasts
ADD_USAGE = Script(__file__, "add_usage", keep=KEEP, metrics=METRICS)
EVERY = 0.1  # seconds between two batches

FILTERED = "memshare:filtered:"
"""Hash, with a day at the end: JSON of a model and a lane → background calls that its content filter refused."""
BACKGROUND = frozenset({"labels", "comparisons", "concepts"})

Amount = tuple[str, str, float]  # key, field, and how much is added


def _summed(charges: Sequence[Sequence[Amount]]) -> list[str]:
    """The sums of amounts as the script takes them: key, field, amount, in turn."""
    sums: defaultdict[tuple[str, str], float] = defaultdict(float)
    for amounts in charges:
        for key, field, by in amounts:
            sums[key, field] += by
    return [part for (key, field), by in sums.items() for part in (key, field, repr(by))]


Kind = Literal["agent", "submitter", "model"]


class Charge(NamedTuple):
    """A call: who it was made for, and what it took. An agent or submitter that is empty is not counted."""

    agent: str
    submitter: str
    model: str
    usage: Usage
    money: float


class Used(NamedTuple):
    """Usage in a day; money is in the currency of the prices. Tokens are those of `Usage`."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    money: float = 0.0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


class UsageLog:
    """The usage of one Redis: its sums are written ten times a second, and at the latest before this process reads.

    What cannot be written is kept in memory and tried again, and what waits is written before the process ends.
    """

    def __init__(self, client: redis.Redis, clock: Callable[[], float] = time.time) -> None:
        self._client = client
        self._clock = clock
        self._writer = f"memshare:usage:writer:{uuid4().hex}"
        self._number = 0
        self._waiting: deque[Sequence[Amount]] = deque()
        self._batch: list[str] = []
        self._writing = threading.Lock()
        self._starting = threading.Lock()
        self._due, self._never = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, charge: Charge) -> None:
        """Count a call. Never waits for Redis, nor raises where it is away: the call's answer is not to be lost."""
        self._add(_amounts(day_of(self._clock()), charge))

    def took(self, model: str, seconds: float) -> None:
        self._count(observe("memshare_model_seconds", seconds, model=model))

    def ended(self, model: str, lane: str, outcome: str, seconds: float, usage: Usage) -> None:
        """Note what a call was for, and how it ended."""
        of = {"model": model, "lane": lane}
        if outcome == "filtered" and lane in BACKGROUND:
            self._add([(f"{FILTERED}{day_of(self._clock())}", json.dumps([model, lane]), 1.0)])
        self._count(
            [
                count("memshare_calls_total", **of, outcome=outcome),
                count("memshare_call_seconds_total", seconds, **of, outcome=outcome),
                count("memshare_call_tokens_total", usage.prompt_tokens + usage.completion_tokens, **of),
            ]
        )

    def _count(self, samples: Iterable[Sample]) -> None:
        self._add([(METRICS, sample.field, float(sample.by)) for sample in samples])

    def _add(self, amounts: Sequence[Amount]) -> None:
        self._waiting.append(amounts)
        self._due.set()
        with self._starting:
            if self._thread is None:
                before_the_end(self._write_the_rest)
            if self._thread is None or not self._thread.is_alive():  # a forked process has no threads
                self._thread = steady_thread("memshare-usage", self._write_batch, self._never)

    def flush(self) -> None:
        """Write now what waits; raises `RedisError` where that is not possible, and keeps it."""
        with self._writing:
            while self._waiting or self._batch:
                if not self._batch:
                    self._number += 1
                    self._batch = _summed([self._waiting.popleft() for _ in range(len(self._waiting))])
                ADD_USAGE(self._client, last_batch=self._writer, batch=self._number, amounts=self._batch)
                self._batch = []

    def _write_batch(self) -> None:
        if not self._batch:  # else it could not be written before
            self._due.wait()
            time.sleep(EVERY)
            self._due.clear()
        self.flush()

    def _write_the_rest(self) -> None:
        try:
            self.flush()
        except RedisError as error:
            log.error("What the last calls used is not counted: %s", error)

    def used(self, holders: Sequence[tuple[Kind, str]]) -> list[Used]:
        """Usage of each of these today."""
        self.flush()
        fields = [f"{what} {kind} {name}" for kind, name in holders for what in Used._fields]
        values = self._client.hmget(_key(day_of(self._clock())), fields)
        width = len(Used._fields)
        return [_used(values[at : at + width]) for at in range(0, len(values), width)]

    def today(self) -> dict[Kind, dict[str, Used]]:
        """Everyone's usage today, by kind and name."""
        self.flush()
        fields = self._client.hgetall(_key(day_of(self._clock())))
        holders = sorted({str(field).split(" ", 1)[1] for field in fields})
        found: dict[Kind, dict[str, Used]] = {"agent": {}, "submitter": {}, "model": {}}
        for holder in holders:
            kind, name = holder.split(" ", 1)
            found[kind][name] = _used([fields.get(f"{what} {holder}") for what in Used._fields])  # type: ignore[index]
        return found


def filtered_today(client: redis.Redis) -> list[str]:
    """A sentence for each model whose content filter refused background calls today."""
    calls: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for field, number in client.hgetall(f"{FILTERED}{day_of(time.time())}").items():
        model, lane = json.loads(field)
        calls[model][lane] = int(number)
    return [
        f"{sum(of.values())} refused by the content filter of {model} today (UTC), of calls for "
        f"{' and '.join(sorted(of))}. What it refuses goes without; the answer of the task stands."
        for model, of in sorted(calls.items())
    ]


def forget_submitter(client: redis.Redis, submitter: str) -> None:
    """Remove what was counted for a submitter, on every day."""
    fields = [f"{what} submitter {submitter}" for what in Used._fields]
    for key in client.scan_iter(_key("????-??-??")):
        client.hdel(key, *fields)


def day_of(now: float) -> str:
    """The UTC day of a Unix time, as 2026-11-21."""
    return time.strftime("%Y-%m-%d", time.gmtime(now))


def seconds_left(now: float) -> float:
    """Seconds from a Unix time until the next UTC day."""
    return 86_400 - now % 86_400


def _amounts(day: str, charge: Charge) -> list[Amount]:
    """Amounts that a charge adds to its day, and for ever to the metrics."""
    took = Used(1, money=charge.money, **charge.usage.model_dump())
    holders = (("agent", charge.agent), ("submitter", charge.submitter), ("model", charge.model))
    by_day = [
        (_key(day), f"{what} {kind} {name}", float(amount))
        for kind, name in holders
        if name
        for what, amount in zip(Used._fields, took, strict=True)
        if amount or what == "calls"
    ]
    of = {"model": charge.model, "agent": charge.agent}
    samples = (
        count("memshare_model_calls_total", **of),
        *(
            count("memshare_model_tokens_total", tokens, **of, type=name.removesuffix("_tokens"))
            for name, tokens in charge.usage
            if tokens or name in ("prompt_tokens", "completion_tokens")
        ),
        count("memshare_model_money_total", took.money, **of),
    )
    return by_day + [(METRICS, sample.field, float(sample.by)) for sample in samples]


def _used(values: Sequence[bytes | str | None]) -> Used:
    calls, prompt, completion, money, cached, reasoning = (float(value or 0) for value in values)
    return Used(int(calls), int(prompt), int(completion), money, int(cached), int(reasoning))


def _key(day: str) -> str:
    return f"memshare:usage:{day}"
