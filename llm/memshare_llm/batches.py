"""Batches: messages of one hop wait until enough are there, or for long enough, to be asked about in one call.

Each waits as an open message beside its queue, so nothing is lost where a worker is killed: what is in Redis here only
says who waits with whom, and what was said of whom.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import redis

from memshare_broker.delivery.hops import Hop
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.errors import REFUSALS, GiveUp, NotYet, TryAgain
from memshare_broker.scripts import Script
from memshare_broker.wire.messages import Message, PaidTask, Usage, derived_id
from memshare_llm.chat import Deferred

MOST = 10  # messages in one call, where nothing else is said
HOLD = "batch "  # begins what holds back a message that waits for others
KEPT_SECONDS = 3_600  # longer than a message takes to come back
GATHER = Script(__file__, "gather", keep=KEPT_SECONDS)
LOOK_AGAIN = 2.0  # seconds
DAY = 86_400  # seconds
DEFERRED_KEPT, DEFERRED_AGAIN = 3 * DAY, 1_200.0  # seconds for which a deferred call waits, and until one looks again
TOO_MUCH = frozenset({"time-out", "cut off", "invalid reply", "too long"})
"""Reasons why fewer in a call may do. A call for one alone that fails so is made again later, or not at all."""
LEFT_OUT = frozenset({"too long", "content filter"})
"""Reasons why no call for one alone will do: it goes without."""
MOST_ALONE = 8  # calls for one alone, before it is given up
FIRST_WAIT, LONGER = 20.0, 4  # seconds after the first of them, and times as many after each other: 30 hours in all
GATHER_AGAIN = 2 * LOOK_AGAIN  # seconds, in which those of a batch whose worker was killed come together again
_ASKING, _ALONE = "asking ", "alone"
"""Values in place of a reply: the first with the message that asks, and since when the task waits; the second where
each task has to ask for itself."""
_BETWEEN = "\x1f"  # stands in no name

T = TypeVar("T", bound=PaidTask)
R = TypeVar("R", bound=Message)


class WaitingTask(NamedTuple, Generic[T]):
    """A task that waited, and since when, as Unix time in seconds."""

    task: T
    since: float


class Batches(Generic[T, R]):
    """The tasks of a hop that wait, by pool and by who pays: agent and submitter."""

    def __init__(
        self,
        hop: Hop[T, Any],
        name: str,
        client: redis.Redis,
        ledger: Ledger,
        wait: float,
        *,
        most: int = MOST,
        said: type[R] | None = None,
        model: str = "",
        in_time: Callable[[], int] = lambda: MOST,
    ) -> None:
        """A task waits for others for at most `wait` seconds, until `most` are there; `name` begins its keys.

        Fewer than `most` share a call where the `model` could not do as many, or is so slow that only `in_time` many
        would end in time. What is said of one is of the type `said`, where it is not the record of the hop.
        """
        self._in_time = in_time
        self._hop = hop
        self._most = most
        self._together_key = f"memshare:{name}_together:{model}"
        self._type: type[R] = said or hop.record
        self._name = name
        self._client = client
        self._ledger = ledger
        self._wait = wait

    def said(self, journey: str) -> R | None:
        """The reply that another message's call gave for this journey."""
        found = self._client.get(self._state_key(journey))
        return self._type.model_validate_json(str(found)) if found and str(found).startswith("{") else None

    def ask(self, task: T, call: Callable[[list[T]], Mapping[str, R]]) -> R:
        """Reply for a task, asked now with the tasks that wait with it; raises `NotYet` as long as it waits.

        `call` asks about some tasks, at least the first, and returns by journey what was said of them. The others go on
        waiting. Where a call is too much for the model, half as many share one from then on; where it refuses to speak
        of all together, each is asked about by itself.
        """
        kept = self._kept_key(self._message(task.journey))
        before = self._kept(kept)
        waited = before or self.gather(task)
        try:
            said = self._ask(waited, call)
        except Exception as error:
            is_stopped = isinstance(error, NotYet | TryAgain) and getattr(error, "hold", "") != HOLD
            if isinstance(error, Deferred) or (before and is_stopped):
                self._keep(kept, waited)  # or what was asked of them would be asked of others, and again
            else:
                self._client.delete(kept)
                self._give_back(waited)
            raise
        for journey, record in said.items():
            self._client.set(self._state_key(journey), record.model_dump_json(), ex=KEPT_SECONDS)
        self._wake([journey for journey in said if journey != task.journey])
        self._give_back([one for one in waited if one.task.journey not in said])
        self._client.delete(kept)
        return said[task.journey]

    def later(self, task: T, error: TryAgain | GiveUp) -> NotYet:
        """For a task that a call alone was too much for: it waits, ever longer; raises `error` after `MOST_ALONE`."""
        state = self._state_key(task.journey)
        failed = self._client.incr(f"{state}:failed")
        seconds = FIRST_WAIT * LONGER ** (failed - 1)
        self._client.expire(f"{state}:failed", 7 * DAY)
        if failed >= MOST_ALONE:
            raise error
        self._ledger.note_failed(error, task.journey)
        self._client.set(state, _ALONE, ex=int(seconds) + KEPT_SECONDS)
        self.leave(task)
        why = f"A reply of the model was of no use for its {self._name} ({error.reason}): asked again, ever later."
        return NotYet(why, seconds, f"{HOLD}{task.journey}")

    def _ask(self, waited: list[WaitingTask[T]], call: Callable[[list[T]], Mapping[str, R]]) -> Mapping[str, R]:
        tasks = [one.task for one in waited]
        try:
            return call(tasks)
        except (TryAgain, GiveUp) as error:
            if len(tasks) == 1:
                raise
            if error.reason in REFUSALS or error.reason in TOO_MUCH:
                self._ledger.note_failed(error, tasks[0].journey)
            if error.reason in REFUSALS:
                self._part(waited[1:])  # one of them may be what the model will not speak of
                del waited[1:]
                return call(tasks[:1])
            if error.reason not in TOO_MUCH:
                raise
            half = self._halve(len(tasks))
            raise NotYet(
                f"The model did not manage {len(tasks)} at once, so it is asked about {half} at a time.", 1.0, HOLD
            ) from error

    def gather(self, task: T) -> list[WaitingTask[T]]:
        """This task and those to be asked about with it, now; raises `NotYet` as long as it waits."""
        member, own = _member(task), self._message(task.journey)
        state, hold = str(self._client.get(self._state_key(task.journey)) or ""), f"{HOLD}{task.journey}"
        if state == _ALONE:
            self.leave(task)
            return [WaitingTask(task, time.time())]
        being_asked = NotYet("A model is being asked about it, together with others.", LOOK_AGAIN, hold)
        now = first = time.time()
        if state.startswith(_ASKING):
            asking, _, at = state.removeprefix(_ASKING).partition(" ")
            if asking != own and self._ledger.is_in_hand(asking):
                raise being_asked
            if asking != own and self._client.exists(self._kept_key(asking)) and self._ledger.open_of([asking]):
                raise NotYet("It shares a call that costs half, and may take a day.", DEFERRED_AGAIN, hold)
            # The worker that asked was killed: what has waited long enough waits for the others of its batch alone.
            first = min(now, max(float(at or now), now + GATHER_AGAIN - self._wait))
        most = self.together()
        found: list[str] = GATHER(
            self._client,
            waiting=self._waiting_key(task),
            member=member,
            seen=state,
            first=first,
            now=now,
            wait=self._wait,
            most=most,
            states=self._state_key(""),
            asking=f"{_ASKING}{own} ",
        )
        if not found:
            raise being_asked
        if len(found) == 1:
            why = f"{most} memories share a call, which costs less: it waits for others, up to {self._wait:g} s."
            raise NotYet(why, float(found[0]), hold)
        pairs = zip(found[::2], found[1::2], strict=True)
        return [WaitingTask(self._hop.read(json.loads(text)), float(at)) for text, at in pairs]

    def _kept(self, key: str) -> list[WaitingTask[T]]:
        """The tasks that a deferred call was about; none where there is no such call."""
        found = self._client.get(key)
        pairs = json.loads(str(found)) if found else ()
        return [WaitingTask(self._hop.read(body), since) for body, since in pairs]

    def _keep(self, key: str, waited: Sequence[WaitingTask[T]]) -> None:
        """Keep with whom a message has deferred its call: the reply will be about these."""
        pairs = [(one.task.model_dump(mode="json"), one.since) for one in waited]
        with self._client.pipeline() as keep:
            keep.set(key, json.dumps(pairs), ex=DEFERRED_KEPT)
            for one in waited:
                keep.expire(self._state_key(one.task.journey), DEFERRED_KEPT)
            keep.execute()

    def together(self) -> int:
        """How many tasks share a call: as many as the model could do."""
        found = self._client.get(self._together_key)
        return max(1, min(self._most, self._in_time(), int(found or self._most)))

    def _halve(self, count: int) -> int:
        """Half of so many, which share a call from now on; after a day more are tried again."""
        half = max(1, count // 2)
        self._client.set(self._together_key, half, ex=DAY)
        return half

    def leave(self, task: T) -> None:
        """It waits no longer: there is nothing to be asked about it."""
        self._client.zrem(self._waiting_key(task), _member(task))

    def _give_back(self, waited: Iterable[WaitingTask[T]]) -> None:
        """They were not asked about, and go on waiting, but for those that have to be asked about by themselves."""
        for one in waited:
            if self._client.get(self._state_key(one.task.journey)) == _ALONE:
                continue
            self._client.zadd(self._waiting_key(one.task), {_member(one.task): one.since}, nx=True)
            self._client.delete(self._state_key(one.task.journey))

    def _part(self, waited: Sequence[WaitingTask[T]]) -> None:
        """They cannot be asked about together: each is, by itself."""
        for one in waited:
            self._client.set(self._state_key(one.task.journey), _ALONE, ex=KEPT_SECONDS)
        self._wake([one.task.journey for one in waited])

    def _wake(self, journeys: Sequence[str]) -> None:
        self._ledger.parked.wake([self._message(journey) for journey in journeys])

    def _message(self, journey: str) -> str:
        return str(derived_id(journey, self._hop.name))

    def _waiting_key(self, task: T) -> str:
        """Sorted set: the tasks that wait, by when they came."""
        return f"memshare:{self._name}_waiting:{task.pool}{_BETWEEN}{task.agent}{_BETWEEN}{task.submitter}"

    def _kept_key(self, message: str) -> str:
        """Tasks that share the call that a message has deferred."""
        return f"memshare:{self._name}_deferred:{message}"

    def _state_key(self, journey: str) -> str:
        """State of a task that waited: it is being asked about, has to be asked about by itself, or has its reply."""
        return f"memshare:{self._name}_said:{journey}"


def _member(task: PaidTask) -> str:
    """A task as it waits for others: its message has the vectors, and no model is asked about them."""
    return re.sub(r'("encoder":"[^"]*","data":)"[^"]*"', r'\1""', task.model_dump_json())


def shares(usage: Usage, count: int) -> list[Usage]:
    """The tokens of a call in equal parts; the first has what is left over."""
    part = Usage(**{name: tokens // count for name, tokens in usage})
    first = Usage(**{name: tokens - tokens // count * (count - 1) for name, tokens in usage})
    return [first, *[part] * (count - 1)]
