"""Journeys per second, beside what Celery does with tasks that do nothing: `python -m benchmarks.journey`.

A journey is a task's way over all hops: recall and answer, grade, settle (here every answer is stored). The model
is a chat server on loopback behind the real OpenAI client, on the same cores, so its cost counts as ours.
Agents and memory share a process (the embedded engine has one owner), the scorer has another; each has 32 threads.
Rates are those of the middle 80 % of the run: without its start and its end.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from celery import Celery
from rich.progress import Progress

from benchmarks.report import print_figures
from memshare.broker import redis_server
from memshare.broker.app import make_app, queue_named
from memshare.broker.connection import connect
from memshare.broker.settings import Settings
from memshare.console import errors
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.deployment import ROOT, Deployment, deployed, wait_for

THREADS = 32
LATENCY = 0.5  # seconds
IDEAL = THREADS / LATENCY  # journeys a second
MIDDLE = (0.1, 0.9)
STALLED_AFTER = 30  # seconds

app: Celery = make_app(lambda _: ["noop"])


@app.task(name="benchmarks.noop")
def noop() -> None:
    """What Celery costs by itself."""


def main(
    journeys: Annotated[int, typer.Option(help="Journeys of each run.")] = 1000,
    noops: Annotated[int, typer.Option(help="Tasks that do nothing.")] = 5000,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Measure, and print the figures."""
    with tempfile.TemporaryDirectory(prefix="memshare-bench-") as name:
        settings = Settings(data=Path(name), model="openai:loopback")
        redis = redis_server.start(settings.data)
        try:
            wait_for(redis_server.socket_path(settings.data).exists, 10, "Redis")
            with Progress(console=errors, transient=True) as progress:
                rates = _journey_rates(settings, journeys, progress)
                rates["noop_tasks_per_second"] = _noop_rate(settings, noops, progress)
        finally:
            redis.terminate()
            redis.wait()
    share = rates.pop("with_latency") / IDEAL
    figures: dict[str, Any] = {
        **{name: round(rate, 1) for name, rate in rates.items()},
        "journeys_per_noop": round(rates["journeys_per_second"] / rates["noop_tasks_per_second"], 3),
        "share_of_ideal": round(share, 3),
        "ideal_per_second": IDEAL,
        "threads": THREADS,
        "latency_seconds": LATENCY,
        "aim_share_of_ideal": 0.85,
        "aim_met": share >= 0.85,
    }
    print_figures("Journeys", figures, as_json=as_json)


def _journey_rates(settings: Settings, journeys: int, progress: Progress) -> dict[str, float]:
    delay = 0.0
    workers = [("poem", "memory"), ("scorer",)]
    with (
        serving(lambda _: Answer(delay=delay)) as chat,
        deployed(settings, chat, settings.data, workers, MEMSHARE_CONCURRENCY=str(THREADS)) as deployment,
    ):
        _run(deployment, "warm-up", 100, progress)
        instant = _run(deployment, "no latency", journeys, progress)
        delay = LATENCY
        slow = _run(deployment, f"{LATENCY * 1000:.0f} ms latency", journeys, progress)
    return {"journeys_per_second": instant, "with_latency": slow}


def _run(deployment: Deployment, what: str, count: int, progress: Progress) -> float:
    """Submit while nobody listens, then let the agents begin; the rate at which journeys are settled."""
    client = deployment.client
    agents = ["poem@test"]
    client.app.control.cancel_consumer("poem", destination=agents, reply=True)
    for number in range(count):
        client.submit("poem", f"A limerick, {what}, about the number {number} and a {_topic(number)}", kind="limerick")
    before = client.ledger.done().get("settle", 0)
    client.app.control.add_consumer("poem", destination=agents)
    return _rate(lambda: client.ledger.done().get("settle", 0) - before, count, what, progress)


def _rate(done: Any, count: int, what: str, progress: Progress) -> float:
    bar = progress.add_task(what, total=count)
    start, end = (share * count for share in MIDDLE)
    seen: list[tuple[float, int]] = []
    deadline = time.monotonic() + STALLED_AFTER
    while (ended := done()) < count:
        seen.append((time.monotonic(), ended))
        progress.update(bar, completed=ended)
        if len(seen) > 1 and ended > seen[-2][1]:
            deadline = time.monotonic() + STALLED_AFTER
        if time.monotonic() > deadline:
            raise SystemExit(f"{what}: stalled at {ended} of {count}.")
        time.sleep(0.02)
    seen.append((time.monotonic(), count))
    first = next(point for point in seen if point[1] >= start)
    last = next(point for point in seen if point[1] >= end)
    return (last[1] - first[1]) / (last[0] - first[0])


def _noop_rate(settings: Settings, count: int, progress: Progress) -> float:
    sender = make_app(lambda _: ["noop"], settings)
    command = [sys.executable, "-m", "celery", "-A", "benchmarks.journey", "worker", "-Q", "noop"]
    with connect(settings.redis) as client, (settings.data / "noop.log").open("wb") as log:
        for _ in range(count):
            sender.send_task(
                "benchmarks.noop",
                queue=queue_named("noop"),  # type: ignore[arg-type] # the stubs know of names only
                ignore_result=True,
                priority=3,
            )
        worker = subprocess.Popen(
            [*command, "-c", str(THREADS), "--without-mingle", "--without-gossip", "-l", "WARNING"],
            cwd=ROOT,
            env=os.environ | {"MEMSHARE_DATA": str(settings.data)},
            stdout=log,
            stderr=log,
        )
        try:
            return _rate(lambda: count - client.llen("noop\x06\x163"), count, "no-op tasks", progress)
        finally:
            worker.terminate()
            worker.wait()


def _topic(number: int) -> str:
    topics = ("lighthouse", "baker", "heron", "tram", "locksmith", "glacier", "violin", "postman", "kite", "well")
    return topics[number % len(topics)]


if __name__ == "__main__":
    typer.run(main)
