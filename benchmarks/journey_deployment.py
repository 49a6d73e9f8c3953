"""A deployment of one tree on which `benchmarks.journey` runs: Redis and workers, and no trainer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from benchmarks.chat_server import set_latency
from benchmarks.processes import cpu_seconds
from benchmarks.support.server import Running
from memshare.cli.run.worker import FEW
from memshare.operate.supervisor import CALLS_AN_ANSWER

SIDE = Path(__file__).with_name("journey_side.py")
ROOT = Path(__file__).parents[1]
RECALLS_ASKED = 200


@dataclass(frozen=True)
class Worker:
    """One worker process: its part of the system, its queues, how many tasks it runs at once, and its own settings."""

    name: str
    queues: tuple[str, ...]
    threads: int
    settings: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ran:
    """One run: journeys a second in its middle, and processor time a journey in ms by part of the system.

    `compared` is the share of journeys whose memory was compared with others, which is a call and a message more.
    """

    rate: float
    cpu_ms: dict[str, float]
    compared: float


def layout(threads: int, agents: int, scorers: int) -> list[Worker]:
    """A memory service, agents that have so many threads together, and scorers with twice as many, as under `up`."""
    return [
        Worker("memory", ("memory",), FEW),
        *(Worker("agents", ("poem",), share) for share in _shares(threads, agents)),
        *(Worker("scorer", ("scorer",), share) for share in _shares(CALLS_AN_ANSWER * threads, scorers)),
    ]


class Deployment:
    """Workers that run; see `deployed`."""

    def __init__(self, process: subprocess.Popen[str], chat: Running) -> None:
        self._process = process
        self._chat = chat
        self.pids: dict[str, list[int]] = self._read()["pids"] | {"chat server": [chat.process.pid]}

    def run(self, what: str, count: int, latency: float) -> Ran:
        """Run so many journeys with a model that takes so many seconds."""
        set_latency(self._chat.url, latency)
        self._write({"what": what, "count": count})
        self._read()
        before = {name: cpu_seconds(pids) for name, pids in self.pids.items()}
        self._write({})
        told = self._read()
        used = {name: cpu_seconds(pids) - before[name] for name, pids in self.pids.items()}
        return Ran(told["rate"], {name: seconds * 1000 / count for name, seconds in used.items()}, told["compared"])

    def recall_ms(self) -> float:
        """What the door takes for a recall while nothing else runs, in ms: the median."""
        self._write({"what": "recalls", "count": RECALLS_ASKED})
        return float(self._read()["recall_ms"])

    def _write(self, what: dict[str, Any]) -> None:
        _pipe(self._process.stdin).write(json.dumps(what) + "\n")
        _pipe(self._process.stdin).flush()

    def _read(self) -> dict[str, Any]:
        line = _pipe(self._process.stdout).readline()
        if not line:
            raise SystemExit(f"The deployment ended before it was done, with {self._process.wait()}; see above.")
        return dict(json.loads(line))


@contextmanager
def deployed(
    tree: Path | None, data: Path, workers: Sequence[Worker], chat: Running, settings: Mapping[str, str] | None = None
) -> Iterator[Deployment]:
    """Redis and these workers run while the block does, with the code of a tree, or with this one's for none."""
    root = tree or ROOT
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MEMSHARE_")} | {
        "PYTHONPATH": os.pathsep.join(map(str, [root / "src", *(one.parent for one in root.glob("*/memshare_*"))])),
        "MEMSHARE_DATA": str(data),
        "MEMSHARE_MODEL": "openai:loopback",
        "MEMSHARE_CONCEPTS": "false",  # they are no hop of the journey, and a tree of before has none
        "OPENAI_BASE_URL": chat.url,
        "OPENAI_API_KEY": "benchmark",
        **(settings or {}),
    }
    place = {"data": str(data), "workers": [asdict(one) for one in workers]}
    process = subprocess.Popen(
        # -P: the folder of the program is no place for imports, of whichever tree.
        [sys.executable, "-P", str(SIDE), json.dumps(place)],
        env=environment,
        cwd=data,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Deployment(process, chat)
    finally:
        _pipe(process.stdin).close()
        process.wait()
        _pipe(process.stdout).close()


def _shares(threads: int, processes: int) -> list[int]:
    return [threads // processes + (number < threads % processes) for number in range(processes)]


def _pipe(pipe: IO[str] | None) -> IO[str]:
    if pipe is None:
        raise TypeError("The process was started without pipes.")
    return pipe
