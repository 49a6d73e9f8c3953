"""What calls to chat models used, by UTC day, in Redis: for each agent, each submitter and each model."""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple
from uuid import uuid4

import redis
from redis.exceptions import RedisError

from memshare.broker.observe.metrics import METRICS, count, observe
from memshare.broker.wire.messages import Usage

log = logging.getLogger(__name__)

KEPT = 2 * 86_400  # seconds; a day is read as long as it lasts

Kind = Literal["agent", "submitter", "model"]
Amount = tuple[str, str, float]  # key, field, and how much is added

# A batch counts once, also when its reply was lost and it is sent again.
# KEYS: writer, metrics, which are kept for ever. ARGV: number of the batch, seconds to keep a day; then the key of a
# day or of the metrics, a field and an amount, in turn
_ADD = """
if tonumber(redis.call('GET', KEYS[1]) or 0) >= tonumber(ARGV[1]) then return 0 end
for at = 3, #ARGV, 3 do
  redis.call('HINCRBYFLOAT', ARGV[at], ARGV[at + 1], ARGV[at + 2])
  if ARGV[at] ~= KEYS[2] then redis.call('EXPIRE', ARGV[at], ARGV[2]) end
end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
return 1
"""


class Charge(NamedTuple):
    """One call: who it was made for, and what it took. An agent or submitter that is empty is not counted."""

    agent: str
    submitter: str
    model: str
    usage: Usage
    money: float


class Used(NamedTuple):
    """What was used in a day; money is in the currency of the prices."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    money: float = 0.0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


class UsageLog:
    """The usage of one Redis. What cannot be written is kept in memory and written with the next charge."""

    def __init__(self, client: redis.Redis, clock: Callable[[], float] = time.time) -> None:
        self._client = client
        self._clock = clock
        self._script = client.register_script(_ADD)
        self._writer = f"memshare:usage:writer:{uuid4().hex}"
        self._number = 0
        self._waiting: deque[list[Amount]] = deque()
        self._batch: list[str] = []
        self._sending = threading.Lock()

    def add(self, charge: Charge) -> None:
        """Count a call. Never raises for a Redis that is away: the call's answer is not to be lost."""
        self._waiting.append(_amounts(day_of(self._clock()), charge))
        # One thread writes for all; the others leave theirs to it.
        while (self._waiting or self._batch) and self._sending.acquire(blocking=False):
            try:
                self._send()
            except RedisError as error:
                log.warning("What calls used is written later: %s", error)
                return
            finally:
                self._sending.release()

    def took(self, model: str, seconds: float) -> None:
        """Note how long a model took to reply; it is written with the next charge."""
        samples = observe("memshare_model_seconds", seconds, model=model)
        self._waiting.append([(METRICS, sample.field, float(sample.by)) for sample in samples])

    def used(self, holders: Sequence[tuple[Kind, str]]) -> list[Used]:
        """What each of these has used today."""
        fields = [f"{what} {kind} {name}" for kind, name in holders for what in Used._fields]
        values = self._client.hmget(_key(day_of(self._clock())), fields)
        width = len(Used._fields)
        return [_used(values[at : at + width]) for at in range(0, len(values), width)]

    def today(self) -> dict[Kind, dict[str, Used]]:
        """What everyone has used today, by kind and name."""
        fields = self._client.hgetall(_key(day_of(self._clock())))
        holders = sorted({str(field).split(" ", 1)[1] for field in fields})
        found: dict[Kind, dict[str, Used]] = {"agent": {}, "submitter": {}, "model": {}}
        for holder in holders:
            kind, name = holder.split(" ", 1)
            found[kind][name] = _used([fields.get(f"{what} {holder}") for what in Used._fields])  # type: ignore[index]
        return found

    def _send(self) -> None:
        if not self._batch:
            self._number += 1
            self._batch = _summed([self._waiting.popleft() for _ in range(len(self._waiting))])
        self._script(keys=[self._writer, METRICS], args=[self._number, KEPT, *self._batch])
        self._batch = []


def day_of(now: float) -> str:
    """The UTC day of a Unix time, as 2026-11-21."""
    return time.strftime("%Y-%m-%d", time.gmtime(now))


def seconds_left(now: float) -> float:
    """Seconds from a Unix time until the next UTC day."""
    return 86_400 - now % 86_400


def _amounts(day: str, charge: Charge) -> list[Amount]:
    """What a charge adds to its day, and for ever to the metrics."""
    took = Used(1, charge.usage.prompt_tokens, charge.usage.completion_tokens, charge.money)
    holders = (("agent", charge.agent), ("submitter", charge.submitter), ("model", charge.model))
    by_day = [
        (_key(day), f"{what} {kind} {name}", float(amount))
        for kind, name in holders
        if name
        for what, amount in zip(Used._fields, took, strict=True)
    ]
    of = {"model": charge.model, "agent": charge.agent}
    samples = (
        count("memshare_model_calls_total", **of),
        count("memshare_model_tokens_total", took.prompt_tokens, **of, type="prompt"),
        count("memshare_model_tokens_total", took.completion_tokens, **of, type="completion"),
        count("memshare_model_money_total", took.money, **of),
    )
    return by_day + [(METRICS, sample.field, float(sample.by)) for sample in samples]


def _summed(charges: Sequence[list[Amount]]) -> list[str]:
    """The sums of amounts as the script takes them: key, field, amount, in turn."""
    sums: defaultdict[tuple[str, str], float] = defaultdict(float)
    for amounts in charges:
        for key, field, by in amounts:
            sums[key, field] += by
    return [part for (key, field), by in sums.items() for part in (key, field, repr(by))]


def _used(values: Sequence[bytes | str | None]) -> Used:
    calls, prompt, completion, money = (float(value or 0) for value in values)
    return Used(int(calls), int(prompt), int(completion), money)


def _key(day: str) -> str:
    return f"memshare:usage:{day}"
