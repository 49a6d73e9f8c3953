"""What calls to chat models used, by UTC day, in Redis: for each agent, each submitter and each model."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple
from uuid import uuid4

import redis
from redis.exceptions import RedisError

from broker.messages import Usage

log = logging.getLogger(__name__)

KEPT = 2 * 86_400  # seconds; a day is read as long as it lasts

Kind = Literal["agent", "submitter", "model"]

# A batch counts once, also when its reply was lost and it is sent again.
# KEYS: writer. ARGV: number of the batch, seconds to keep a day; then a day's key, a field and an amount, in turn
_ADD = """
if tonumber(redis.call('GET', KEYS[1]) or 0) >= tonumber(ARGV[1]) then return 0 end
for at = 3, #ARGV, 3 do
  redis.call('HINCRBYFLOAT', ARGV[at], ARGV[at + 1], ARGV[at + 2])
  redis.call('EXPIRE', ARGV[at], ARGV[2])
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
        self._waiting: deque[tuple[str, Charge]] = deque()
        self._batch: list[str] = []
        self._sending = threading.Lock()

    def add(self, charge: Charge) -> None:
        """Count a call. Never raises for a Redis that is away: the call's answer is not to be lost."""
        self._waiting.append((day_of(self._clock()), charge))
        # One thread writes for all; the others leave theirs to it.
        while (self._waiting or self._batch) and self._sending.acquire(blocking=False):
            try:
                self._send()
            except RedisError as error:
                log.warning("The usage of %d calls is written later: %s", len(self._waiting) + 1, error)
                return
            finally:
                self._sending.release()

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
            self._batch = _amounts([self._waiting.popleft() for _ in range(len(self._waiting))])
        self._script(keys=[self._writer], args=[self._number, KEPT, *self._batch])
        self._batch = []


def day_of(now: float) -> str:
    """The UTC day of a Unix time, as 2026-11-21."""
    return time.strftime("%Y-%m-%d", time.gmtime(now))


def seconds_left(now: float) -> float:
    """Seconds from a Unix time until the next UTC day."""
    return 86_400 - now % 86_400


def _amounts(charges: Sequence[tuple[str, Charge]]) -> list[str]:
    """The sums of charges as the script takes them: key, field, amount, in turn."""
    sums: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for day, charge in charges:
        took = Used(1, charge.usage.prompt_tokens, charge.usage.completion_tokens, charge.money)
        for kind, name in (("agent", charge.agent), ("submitter", charge.submitter), ("model", charge.model)):
            if name:
                for what, amount in zip(Used._fields, took, strict=True):
                    sums[_key(day)][f"{what} {kind} {name}"] += amount  # type: ignore[assignment] # money is a float
    return [part for key, fields in sums.items() for field, by in fields.items() for part in (key, field, repr(by))]


def _used(values: Sequence[bytes | str | None]) -> Used:
    calls, prompt, completion, money = (float(value or 0) for value in values)
    return Used(int(calls), int(prompt), int(completion), money)


def _key(day: str) -> str:
    return f"memshare:usage:{day}"
