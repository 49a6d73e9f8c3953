"""What memshare takes of a machine, beside a bare Celery worker: `python -m benchmarks.footprint`.

`memshare up --agents 2` runs on a data folder that has its encoder exported, with a chat server on loopback; the bare
worker asks the same server with the OpenAI client. Memory is resident memory (RSS), in which what processes share
counts for each; a worker's is taken after it has answered.
- `agent_ready_s`, `up_ready_s`: from the start of the process until it takes tasks, or says that all do.
- `up_mb`: all processes of `up`, Redis and Flower among them, after journeys, so that the trainer has learnt too;
  `up_mb_at_start` before the first.
- `submit_ms`: what `memshare submit … --wait` takes beyond the seconds of the answer itself.
- `redis_bytes_per_journey`: what a journey leaves in Redis, answer, trace, result and concepts, without the trainer's
  lessons, of which a pool keeps a bounded number; `redis_lesson_bytes_per_journey` are those. `…_after_a_day`: what is
  left when the details of its trace have gone (MEMSHARE_KEEP_TRACES_DAYS).
Times are medians of several starts, in which ours and the bare one take turns.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import redis
import typer

from benchmarks.journey_side import tasks
from benchmarks.report import Aim, print_figures, progress
from benchmarks.support import server
from benchmarks.up_process import MEMSHARE, Up, bare_environment, bare_worker, our_worker, running
from memshare.client.client import Client
from memshare_broker.connection import connect
from memshare_broker.settings import Settings
from tests.support.deployment import ROOT, wait_for

AIMS = (
    Aim("agent_worker_mb", 110, "MB", at_most=True),
    Aim("agent_ready_s", 2, "s", at_most=True),
    Aim("up_ready_s", 6, "s", at_most=True),
    Aim("up_mb", 1_500, "MB", at_most=True),
    Aim("help_ms", 400, "ms", at_most=True),
    Aim("submit_ms", 600, "ms", at_most=True),
    Aim("redis_bytes_per_journey", 4_000, "bytes", at_most=True),
    Aim("redis_bytes_per_journey_after_a_day", 1_500, "bytes", at_most=True),
)
GROWN = 300  # memories of a pool, after which only some become lessons
TEXT = "A limerick about a lighthouse"
BARE_HELP = (sys.executable, "-m", "celery", "--help")
A_DAY = 86_400  # seconds
LESSONS = ("memshare:lesson", "memshare:retriever")

Figures = dict[str, Any]


def main(
    rounds: Annotated[int, typer.Option(min=1, help="Starts of each kind.")] = 5,
    journeys: Annotated[int, typer.Option(min=10, help="Journeys by which bytes in Redis are measured.")] = 200,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Measure, and print the figures."""
    with (
        tempfile.TemporaryDirectory(prefix="memshare-bench-") as name,
        server.running("benchmarks.chat_server") as chat,
    ):
        environment = {
            "MEMSHARE_MODEL": "openai:loopback",
            "MEMSHARE_CONCEPTS_WAIT": "2",
            "OPENAI_BASE_URL": chat.url,
            "OPENAI_API_KEY": "benchmark",
        }
        ready = []
        for _ in progress(range(1 + rounds), "Starting memshare up"):
            with running(Path(name), environment) as up:
                ready.append(up.ready_s)
        with running(Path(name), environment) as up:
            figures = _of_a_running_one(up, rounds, journeys)
    figures["up_ready_s"] = round(median(ready[1:]), 2)
    figures["up_first_ready_s"] = round(ready[0], 2)  # it exports the encoder
    print_figures("Footprint", figures, as_json=as_json, aims=AIMS)


def _of_a_running_one(up: Up, rounds: int, journeys: int) -> Figures:
    figures: Figures = {"up_mb_at_start": round(sum(up.memory_by_part().values()), 1)}
    _run_journeys(up, GROWN + journeys // 2)
    before, lasting_before = _redis_bytes(up), _redis_bytes(up, longer_than=A_DAY)
    _run_journeys(up, journeys)
    by_key = {name: (size - before.get(name, 0)) / journeys for name, size in _redis_bytes(up).items()}
    of_lessons = sum(size for name, size in by_key.items() if name.startswith(LESSONS))
    lasting = sum(_redis_bytes(up, longer_than=A_DAY).values()) - sum(lasting_before.values())
    figures["redis_bytes_per_journey"] = round(sum(by_key.values()) - of_lessons)
    figures["redis_bytes_per_journey_after_a_day"] = round(lasting / journeys - of_lessons)
    figures["redis_lesson_bytes_per_journey"] = round(of_lessons)
    parts = up.memory_by_part()
    figures["up_mb"] = round(sum(parts.values()), 1)
    figures |= _of_workers(up, rounds)
    figures["up_mb_by_part"] = parts
    figures["redis_bytes_by_key"] = {name: round(size) for name, size in by_key.items() if abs(size) >= 50}
    return figures


def _of_workers(up: Up, rounds: int) -> Figures:
    """A worker of ours and a bare one, again and again; and the command line meanwhile."""
    seen: dict[str, list[float]] = {}
    submit = [MEMSHARE, "submit", "poem", TEXT, "--kind", "limerick", "--wait", "--json"]
    bare_submit = [sys.executable, "-m", "benchmarks.bare_worker", TEXT]
    with redis.Redis(unix_socket_path=_socket(up), db=1) as database:
        for _ in progress(range(rounds), "Starting workers"):
            for name, start in (("agent", our_worker), ("bare", bare_worker)):
                worker = start(up)
                try:
                    seen.setdefault(f"{name}_ready_s", []).append(worker.ready_s)
                    if name == "agent":
                        _run_journeys(up, 60)
                        seen.setdefault("submit_ms", []).append(_beyond(submit, up.environment))
                    else:
                        before = _total(database)
                        taken = [_beyond(bare_submit, bare_environment(up)) for _ in range(3)]
                        seen.setdefault("bare_redis_bytes", []).append((_total(database) - before) / len(taken))
                        seen.setdefault("bare_submit_ms", []).append(median(taken))
                    seen.setdefault(f"{name}_worker_mb", []).append(worker.mb)
                finally:
                    worker.stop()
            seen.setdefault("help_ms", []).append(_milliseconds([MEMSHARE, "--help"], up.environment))
            seen.setdefault("bare_help_ms", []).append(_milliseconds(BARE_HELP, up.environment))
    return {name: round(median(values), 2) for name, values in seen.items()}


def _run_journeys(up: Up, count: int) -> None:
    """So many journeys to their end, lessons included."""
    client = Client(Settings(data=up.data, redis_url=None))
    try:
        before = client.ledger.done().get("settle", 0)
        started = time.time()
        for prompt in islice(tasks(), count):
            client.submit("poem", f"{prompt}, at {started}")
        wait_for(lambda: client.ledger.done().get("settle", 0) >= before + count, 300, "journeys to settle")
        wait_for(lambda: not any(client.ledger.open_messages().values()), 300, "the trainer")
    finally:
        client.close()


def _redis_bytes(up: Up, longer_than: int = 0) -> dict[str, int]:
    """Bytes in Redis by the beginnings of keys; of those alone that are kept for longer than so many seconds."""
    found: dict[str, int] = {}
    with connect(up.redis_url) as client:
        for key in map(str, client.scan_iter(count=1000)):
            name = ":".join(key.split(":")[:2]) if key.startswith("memshare:") else key.split("-")[0]
            if 0 <= client.ttl(key) <= longer_than:
                continue
            found[name] = found.get(name, 0) + int(client.memory_usage(key, samples=0) or 0)
    return found


def _total(client: redis.Redis) -> int:
    return sum(int(client.memory_usage(key, samples=0) or 0) for key in client.scan_iter(count=1000))


def _socket(up: Up) -> str:
    return up.redis_url.removeprefix("unix://").partition("?")[0]


def _beyond(command: Sequence[str], environment: dict[str, str]) -> float:
    """Milliseconds that a command takes beyond the seconds of the answer that it prints."""
    started = time.perf_counter()
    said = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True, text=True).stdout
    return (time.perf_counter() - started - float(json.loads(said)["seconds"])) * 1000


def _milliseconds(command: Sequence[str], environment: dict[str, str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    typer.run(main)
