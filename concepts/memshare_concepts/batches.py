"""Batches: memories wait until ten are there, or for long enough, to be asked about in one call.

Each waits as an open message beside its queue, so nothing is lost where a worker is killed: what is in Redis here only
says who waits with whom, and what was said of whom.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import redis

from memshare_broker.delivery.hops import EXTRACT
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.errors import NotYet
from memshare_broker.wire.extractions import Extracted, ExtractTask
from memshare_broker.wire.messages import derived_id

MOST = 10  # memories in one call
KEPT_SECONDS = 3_600  # longer than a message takes to come back
LOOK_AGAIN = 2.0  # seconds
_ASKING, _ALONE = "asking ", "alone"
"""What stands in place of what was said: with the id of the message that asks, and where each has to ask for itself."""
_BETWEEN = "\x1f"  # stands in no name


class Waiting(NamedTuple):
    """A task that waited, and since when, as Unix time in seconds."""

    task: ExtractTask
    since: float


class Batches:
    """The tasks that wait, by pool and by who pays: agent and submitter."""

    def __init__(self, client: redis.Redis, ledger: Ledger, wait: float) -> None:
        """A task waits for others for at most `wait` seconds."""
        self._client = client
        self._ledger = ledger
        self._wait = wait

    def said(self, journey: str) -> Extracted | None:
        """What the batch of another message has said of the memory of this journey."""
        found = self._client.get(_state_key(journey))
        return Extracted.model_validate_json(str(found)) if found and str(found).startswith("{") else None

    def gather(self, task: ExtractTask) -> list[Waiting]:
        """This task and those to be asked about with it, now; raises `NotYet` as long as it waits."""
        key, member, own = _waiting_key(task), task.model_dump_json(), _message(task.journey)
        state, hold = str(self._client.get(_state_key(task.journey)) or ""), f"batch {task.journey}"
        if state == _ALONE:
            self.leave(task)
            return [Waiting(task, time.time())]
        being_asked = NotYet("It is being asked about with others.", LOOK_AGAIN, hold)
        if state.startswith(_ASKING) and self._ledger.is_in_hand(state.removeprefix(_ASKING)):
            raise being_asked  # else the worker that asked was killed
        now = time.time()
        with self._client.pipeline() as step:
            step.zadd(key, {member: now}, nx=True)
            step.zcard(key)
            step.zscore(key, member)
            step.expire(key, KEPT_SECONDS)
            found: list[Any] = step.execute()
        there, since = found[1], now if found[2] is None else float(found[2])
        left = since + self._wait - now
        if there < MOST and left > 0:
            why = f"It waits until {MOST} memories can be asked about in one call, at most {self._wait:g} s."
            raise NotYet(why, left, hold)
        if not self._client.zrem(key, member):
            raise being_asked  # another worker has just taken it
        popped: Any = self._client.zpopmin(key, MOST - 1)
        others = [Waiting(ExtractTask.model_validate_json(str(text)), float(at)) for text, at in popped]
        for one in others:
            self._client.set(_state_key(one.task.journey), _ASKING + own, ex=KEPT_SECONDS)
        return [Waiting(task, since), *others]

    def leave(self, task: ExtractTask) -> None:
        """It waits no longer: there is nothing to be asked about it."""
        self._client.zrem(_waiting_key(task), task.model_dump_json())

    def give_back(self, waited: Iterable[Waiting]) -> None:
        """They were not asked about, and go on waiting, but for those that have to be asked about by themselves."""
        for one in waited:
            if self._client.get(_state_key(one.task.journey)) == _ALONE:
                continue
            self._client.zadd(_waiting_key(one.task), {one.task.model_dump_json(): one.since}, nx=True)
            self._client.delete(_state_key(one.task.journey))

    def part(self, waited: Sequence[Waiting]) -> None:
        """They cannot be asked about together: each is, by itself."""
        for one in waited:
            self._client.set(_state_key(one.task.journey), _ALONE, ex=KEPT_SECONDS)
        self._wake([one.task.journey for one in waited])

    def tell(self, said: Sequence[Extracted]) -> None:
        """What was said of the others: their messages take it from here, and go on now."""
        for one in said:
            self._client.set(_state_key(one.journey), one.model_dump_json(), ex=KEPT_SECONDS)
        self._wake([one.journey for one in said])

    def _wake(self, journeys: Sequence[str]) -> None:
        self._ledger.wake([_message(journey) for journey in journeys])


def _message(journey: str) -> str:
    return str(derived_id(journey, EXTRACT.name))


def _waiting_key(task: ExtractTask) -> str:
    """Sorted set: the tasks that wait, by when they came."""
    return f"memshare:concepts_waiting:{task.pool}{_BETWEEN}{task.agent}{_BETWEEN}{task.submitter}"


def _state_key(journey: str) -> str:
    """What became of a task that waited: it is being asked about, has to be by itself, or what was said."""
    return f"memshare:concepts_said:{journey}"
