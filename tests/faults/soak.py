"""A whole deployment under a steady load for long: `make soak`, or `python -m tests.faults.soak` with options.

In the first quarter every worker is ended with SIGTERM and started again, one after the other and twice. From then on
the processes stay the same ones, so what they take at a quarter of the run and at its end can be compared; before it a
burst of tasks has kept all their threads busy, each of which keeps connections.
- Memory and open files of a worker are medians of a minute's looks. One task in eight is remembered, so that the
  memory service may grow by what it keeps: some kilobytes for each memory.
- A journey leaves bytes in Redis for MEMSHARE_KEEP_DAYS, and lessons, credits and dead letters stay. What is left of
  the keys is what workers work with, which must not grow: the least of a minute's looks, for messages come and go.
- Latency is from the moment at which a task is due until its answer. Compared are the second quarter and the last one,
  by the medians of what their parts came to, so that nothing hangs on one bad minute of the machine.
Ends with status 1 when a task was lost or counted twice, or when anything drifts by more than 5 %.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from memshare.terminal.console import print_json
from memshare_memory.stores.store import Where
from tests.faults.cluster import Cluster, Setup, cluster
from tests.faults.count import count
from tests.faults.drift import PARTS, drifts
from tests.faults.load import Load
from tests.faults.pace import Pace
from tests.faults.soaked import Soaked, print_soak
from tests.faults.table import progress
from tests.faults.usage import redis_bytes, watched

MINUTES, RATE = 20.0, 8.0  # tasks a second: what the workers of a run take with ease
LATENCY = 0.05  # seconds before each reply of the model
ROUNDS = 2
RESTARTING = 0.8  # of the first quarter
BURST = 400  # tasks that keep every thread of every worker busy
ENDED_BY_THEN = 5.0  # seconds after a task was due
SAMPLED = 300  # tasks
BACK_WITHIN, ENDS_WITHIN = 120.0, 300.0  # seconds


def soak(folder: Path, minutes: float, rate: float, rounds: int = ROUNDS, burst: int = BURST) -> Soaked:
    """Run a deployment whose data and logs are in `folder` for so many minutes, or longer if restarts take longer."""
    quarter = minutes * 60 / 4
    with cluster(folder, Setup(latency=LATENCY, embedded=True, short=minutes < 1), None) as made:
        load = Load(made.client)
        pace = Pace(made.client, load, rate)
        with pace.kept(), watched(made.fleet, lambda: pace.now) as looks:
            restarts = _restart_each(made, pace, rounds, quarter * RESTARTING)
            load.burst(burst)
            begin = max(quarter, pace.now)
            end = begin + 3 * quarter
            part = (end - begin) / PARTS
            _until(pace, begin)
            early = redis_bytes(made.direct, _last_ended(load, rate), part)
            _until(pace, end - part)
            late = redis_bytes(made.direct, _last_ended(load, rate), part)
            _until(pace, end)
        made.wait_for(lambda: made.open_messages() == 0, ENDS_WITHIN)
        return Soaked(
            begin=begin / 60,
            end=end / 60,
            rate=rate,
            restarts=restarts,
            count=count(made.client, made.direct, load.accepted, list(made.client.memories.every(Where()))),
            crashes=tuple(made.fleet.crashes),
            drifts=tuple(drifts(looks, pace.answered, (early, late), begin, end)),
        )


def _restart_each(made: Cluster, pace: Pace, rounds: int, within: float) -> int:
    """Every worker is ended and comes back, one after the other, evenly over so many seconds or as fast as it goes."""
    names = made.fleet.names * rounds
    for number, name in enumerate(names):
        _until(pace, within * number / len(names))
        _restart(made, name)
    return made.fleet.ended


def _restart(made: Cluster, name: str) -> None:
    before = made.fleet.pid(name)
    made.fleet.end(name, signal.SIGTERM)
    assert made.wait_for(lambda: made.fleet.pid(name) != before, BACK_WITHIN), f"{name} does not end"
    assert made.wait_until_ready(BACK_WITHIN), f"{name} does not come back"


def _last_ended(load: Load, rate: float) -> list[str]:
    """The last tasks that have come to their end."""
    return load.accepted[: -round(ENDED_BY_THEN * rate)][-SAMPLED:]


def _until(pace: Pace, moment: float) -> None:
    time.sleep(max(0.0, moment - pace.now))


def main() -> None:
    options = _options()
    folder = Path(tempfile.mkdtemp(prefix="memshare-soak-"))
    progress.print(f"{options.minutes:g} minutes at {options.rate:g} tasks a second …", highlight=False)
    soaked = soak(folder, options.minutes, options.rate)
    if options.json:
        print_json(soaked.as_json)
    else:
        print_soak(soaked)
    if soaked.failings:
        progress.print(f"The data and the logs are in {folder}.", highlight=False)
        sys.exit(1)
    shutil.rmtree(folder)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.soak", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=MINUTES, help=f"how long it runs (default {MINUTES:g})")
    parser.add_argument("--rate", type=float, default=RATE, help=f"tasks a second (default {RATE:g})")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of a table")
    return parser.parse_args()


if __name__ == "__main__":
    main()
