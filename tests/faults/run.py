"""Runs one scenario from an empty cluster to the last task's end."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from memshare_broker.delivery.schema import ENDED
from memshare_broker.errors import Unreachable
from memshare_memory.memory import Memory
from memshare_memory.stores.store import Where
from tests.faults.cluster import LEASE, Cluster, Setup, cluster
from tests.faults.count import Count, count
from tests.faults.load import FIRST, Load

EARLY = 0.9  # of the tasks are submitted before the fault, the others while it is on
RECOVERS_WITHIN = 420  # seconds; longer than the visibility timeout
ENDS_WITHIN = 900  # seconds after the end of the fault
DRAINED = ("answer", "score", "settle", "extract", "concepts")
STILL = 2 * LEASE  # seconds in which nothing more ends where nothing is swept


@dataclass(frozen=True)
class Scenario:
    """One fault. `hurt` is called when the tasks are in flight."""

    name: str
    breaks: str
    """What is broken, in a few words."""
    hurt: Callable[[Cluster, float], int] | None
    """One of `tests.faults.breaking`; None to break nothing."""
    setup: Setup = field(default_factory=Setup)
    missing: Callable[[], str | None] = lambda: None
    """Why it cannot run here, or None."""
    quick: bool = False
    """Whether it belongs to the short run."""
    strikes: int = 1
    """How often the fault must strike at the least in a full run; in a short one, once."""
    loses: bool = False
    """Whether messages are expected to be lost."""
    dies: bool = False
    """Whether a task may become a dead letter, though the model does not refuse it."""
    hostile: bool = False
    """Whether others put into the queues what is no message of theirs: dead letters that say so are as it must be."""
    load_goes_on: bool = False
    """Whether tasks are submitted for as long as the fault is on, however many that makes."""
    most: int | None = None
    """How many tasks it gets at most; None for as many as the run gives."""
    drains_within: float | None = None
    """Seconds after the fault by which 99 of 100 tasks that were under way then must have ended; None for no bound."""


@dataclass(frozen=True)
class Result:
    """What a scenario came to. Times are in seconds.

    `recovered` is the time from the end of the fault until a task that is submitted right then, ahead of all others,
    is answered, graded and settled: until every stage works again. None if it did not within 420 s.
    `drained` is how long after the fault a task that was under way then was answered, graded and settled, and its
    memory had its concepts: at the median, and at the 99th percentile; zeros where there were no such tasks. Lessons
    are left out: nobody waits for them, and the trainer has one after the other.
    `ended` is the time from the first submission until no message was open any more.
    """

    name: str
    skipped: str | None = None
    count: Count | None = None
    in_flight: int = 0
    """Open messages when the fault began."""
    struck: int | None = None
    """How often the fault struck; None where there is none."""
    strikes: int = 1
    """How often it had to, at the least."""
    turned_away: int = 0
    """Submissions that failed, each of which its submitter was told of."""
    recovered: float | None = None
    drained: tuple[float, float] | None = None
    drains_within: float | None = None
    ended: float | None = None
    crashes: tuple[str, ...] = ()
    loses: bool = False
    dies: bool = False
    hostile: bool = False
    logs: str | None = None
    """The folder of data and logs, while it is kept."""


def run(scenario: Scenario, tasks: int, qdrant_url: str | None, size: float = 1.0) -> Result:
    """Run a scenario with so many tasks. The data and logs of a run in which something went wrong are kept."""
    why_not = scenario.missing()
    if why_not:
        return Result(scenario.name, skipped=why_not)
    tasks = min(tasks, scenario.most or tasks)
    folder = Path(tempfile.mkdtemp(prefix="memshare-faults-"))
    with cluster(folder, replace(scenario.setup, short=size < 1), qdrant_url) as made:
        return strike(made, Load(made.client), scenario, tasks, size)


def strike(made: Cluster, load: Load, scenario: Scenario, tasks: int, size: float) -> Result:
    """Let a scenario break a cluster that is up. What is counted are all tasks that the load ever had."""
    started = time.monotonic()
    early = round(tasks * EARLY)
    load.burst(early)
    in_flight = made.open_messages() or 0
    with load.trickle(tasks - early, goes_on=scenario.load_goes_on):
        struck = scenario.hurt(made, size) if scenario.hurt else None
    over = made.now()
    recovered = _recovered(made, load)
    ended = _ended(made, started, scenario.loses)
    return Result(
        name=scenario.name,
        count=count(made.client, made.direct, load.accepted, _memories(made), concepts=scenario.setup.concepts),
        in_flight=in_flight,
        struck=struck,
        strikes=scenario.strikes if size >= 1 else 1,
        turned_away=load.turned_away,
        recovered=recovered,
        drained=_drained(made, load.accepted, over),
        drains_within=scenario.drains_within,
        ended=ended,
        crashes=tuple(made.fleet.crashes),
        loses=scenario.loses,
        dies=scenario.dies,
        hostile=scenario.hostile,
        logs=str(made.settings.data),
    )


def forget(result: Result) -> Result:
    """Remove the data and the logs that a run has left."""
    if result.logs:
        shutil.rmtree(result.logs)
    return replace(result, logs=None)


def _recovered(made: Cluster, load: Load) -> float | None:
    started = time.monotonic()
    probe = load.one(FIRST)
    while time.monotonic() - started < RECOVERS_WITHIN:
        with contextlib.suppress(Unreachable):
            if made.client.journey(probe).ended:
                return round(time.monotonic() - started, 1)
        time.sleep(0.05)
    return None


def _drained(made: Cluster, accepted: Sequence[str], over: float) -> tuple[float, float]:
    """See `Result`."""
    journeys = [made.client.ledger.journey(one) for one in accepted]
    last = [
        max(float(one.get(ENDED + hop, 0.0)) for hop in DRAINED)
        for one in journeys
        if float(one.get("submitted", 0.0)) <= over
    ]
    late = [at - over for at in last if at > over]
    p50, p99 = np.percentile(late or [0.0], (50, 99))
    return round(float(p50), 1), round(float(p99), 1)


def _ended(made: Cluster, started: float, loses: bool) -> float | None:
    deadline = time.monotonic() + ENDS_WITHIN
    last, since = made.open_messages(), time.monotonic()
    while time.monotonic() < deadline:
        still = made.open_messages()
        if still == 0:
            return round(time.monotonic() - started, 1)
        if still != last:
            last, since = still, time.monotonic()
        if loses and time.monotonic() - since > STILL:
            return None
        time.sleep(0.2)
    return None


def _memories(made: Cluster) -> list[Memory]:
    if made.store:
        return made.store.memories()
    return list(made.client.memories.every(Where()))
