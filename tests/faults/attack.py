"""Honest tasks beside attacks on every door, and beside kills: `python -m tests.faults.attack`.

A quarter of the time is quiet. Then come, all at once: requests by REST and MCP made at random, messages of anybody in
the queues, connections that send a byte at a time, headers and bodies without end, recalls of long texts, what takes
long to compute, wrong tokens, one token that hands in tasks without end; tokens that plant lies (`tests.faults.plot`);
and a worker is killed every minute. Honest tasks go on at their pace.
- Latency is from the moment at which a task is due until its answer. Told apart are the tasks that were due within
  some seconds of a kill: they wait for a process to start again, attack or not.
Ends with status 1 when an honest task was lost, a stored memory is not there, lies have more than a twentieth of the
places, or the rest took over three times as long at the 99th percentile.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import psutil

from memshare.operations.caller import Tokens
from memshare.terminal.console import console, print_json, table
from memshare_memory.stores.store import Where
from tests.faults.cluster import ENVIRONMENT, KINDS, Cluster, Setup, cluster
from tests.faults.count import count
from tests.faults.load import Load
from tests.faults.pace import Answered, Pace
from tests.faults.plot import Plot
from tests.faults.table import progress
from tests.faults.worker_process import ROOT, start_memshare

MINUTES, RATE, QUIET = 20.0, 4.0, 0.25
KILL_EVERY, RESTARTS_WITHIN = 60.0, 20.0  # seconds
ENDS_WITHIN = 420.0  # seconds
MOST_SLOWER = 3.0
MOST_LIES = 0.05  # of the places of examples


@dataclass(frozen=True)
class Attacked:
    """What came of it; latencies are 99th percentiles in seconds."""

    tasks: int
    blows: dict[str, int]
    kills: int
    quiet: float
    attacked: float
    """Of the tasks that no kill was near."""
    attacked_all: float
    unended: int
    lost: int
    missing: int
    duplicates: int
    crashes: tuple[str, ...]
    door_mb: float
    lies: int
    """Planted, and stored."""
    places: float
    """The share of lies in what honest people are shown of the same things."""

    @property
    def failings(self) -> list[str]:
        """What must not be, a sentence for each thing."""
        wrong = {
            f"{self.unended} honest tasks have neither an answer nor a dead letter": self.unended,
            f"{self.lost} messages are in no queue and no worker": self.lost,
            f"{self.missing} stored memories are not in the pool": self.missing,
            f"{self.duplicates} memories are in the pool twice": self.duplicates,
            f"processes ended by themselves: {', '.join(self.crashes)}": self.crashes,
            f"{self.places:.1%} of the places have lies": self.places > MOST_LIES,
            f"p99 went from {self.quiet:.2f} to {self.attacked:.2f} s": self.attacked > MOST_SLOWER * self.quiet,
        }
        return [sentence for sentence, is_wrong in wrong.items() if is_wrong]


def attack(folder: Path, minutes: float, rate: float, kill_every: float = KILL_EVERY) -> Attacked:
    """Run a deployment whose data and logs are in `folder`, quietly and then under attack."""
    seconds = minutes * 60
    with (
        cluster(folder, Setup(latency=0.05, embedded=True, short=minutes < 1), None) as made,
        door(made, folder) as (url, serving),
    ):
        token = Tokens(made.direct).create("mallory", ("recall", "offer", "submit"), ("logic",))
        load = Load(made.client)
        pace = Pace(made.client, load, rate)
        plot = Plot(url, Tokens(made.direct), made.client)
        kills: list[float] = []
        with pace.kept():
            time.sleep(QUIET * seconds)
            begin = pace.now
            with _attackers(url, token, made.settings.redis) as blows, ThreadPoolExecutor(1) as plotting:
                planted = plotting.submit(plot.strike) if minutes >= 1 else None
                _kill(made, pace, begin + (1 - QUIET) * seconds, kill_every, kills)
                if planted:
                    planted.result()
        made.wait_for(lambda: made.open_messages() == 0, ENDS_WITHIN)
        found = count(made.client, made.direct, load.accepted, list(made.client.memories.every(Where())))
        door_mb = psutil.Process(serving.pid).memory_info().rss / 1e6 if serving.poll() is None else 0.0
        ended = ("serve",) if serving.poll() is not None else ()
        quiet = [one for one in pace.answered if one.due < begin]
        attacked = [one for one in pace.answered if one.due >= begin]
        apart = [one for one in attacked if not any(0 <= one.due - kill + 1 < RESTARTS_WITHIN for kill in kills)]
        return Attacked(
            tasks=len(load.accepted),
            blows=blows,
            kills=len(kills),
            quiet=_p99(quiet),
            attacked=_p99(apart),
            attacked_all=_p99(attacked),
            unended=found.unended,
            lost=found.lost,
            missing=found.missing,
            duplicates=found.duplicates,
            crashes=(*made.fleet.crashes, *ended),
            door_mb=door_mb,
            lies=plot.lies(),
            places=plot.places() if planted else 0.0,
        )


@contextmanager
def door(made: Cluster, folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """`memshare serve` beside the workers: its address, and its process."""
    environment = ENVIRONMENT | {"MEMSHARE_DATA": str(folder), "MEMSHARE_REDIS_URL": made.settings.redis}
    log = folder / "serve.log"
    process = start_memshare(["serve", "--port", "0", "--json"], log, environment)
    try:
        assert made.wait_for(lambda: '"url"' in log.read_text(), 60), f"the door did not open: see {log}"
        [line] = [one for one in log.read_text().splitlines() if '"url"' in one]
        yield json.loads(line)["url"], process
    finally:
        process.kill()
        process.wait()


@contextmanager
def _attackers(url: str, token: str, redis_url: str) -> Iterator[dict[str, int]]:
    """The attackers strike while the block runs; then it is known how often."""
    blows: dict[str, int] = {}
    command = [sys.executable, "-m", "tests.faults.attackers", url, token, redis_url]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield blows
        finally:
            process.send_signal(signal.SIGTERM)
            said, _ = process.communicate(timeout=60)
        blows.update(json.loads(said))


def _kill(made: Cluster, pace: Pace, end: float, every: float, kills: list[float]) -> None:
    chance, moment = random.Random(3), pace.now + every
    while moment < end:  # at fixed times, however long it takes to end one
        time.sleep(max(0.0, moment - pace.now))
        moment += every
        kills.append(pace.now)
        made.fleet.end(chance.choice(KINDS), signal.SIGKILL)
    time.sleep(max(0.0, end - pace.now))


def _p99(answered: Sequence[Answered]) -> float:
    return float(np.percentile([one.seconds for one in answered], 99)) if answered else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.attack", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=MINUTES, help=f"how long it runs (default {MINUTES:g})")
    parser.add_argument("--rate", type=float, default=RATE, help=f"honest tasks a second (default {RATE:g})")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of a table")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="memshare-attack-"))
    found = attack(folder, options.minutes, options.rate)
    if options.json:
        print_json(asdict(found) | {"failings": found.failings})
    else:
        console.print(table("", "", rows=asdict(found).items()))
        for sentence in found.failings:
            console.print(f"FAILED {sentence}.", style="bold red")
    if found.failings:
        progress.print(f"The data and the logs are in {folder}.", highlight=False)
        sys.exit(1)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
