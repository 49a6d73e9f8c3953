"""Recalls through the door of a memory service that runs, by callers in processes of their own.

They ask for the prompts of the demo, in each of four pools of made-up memories.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.report import milliseconds, percentile, progress
from benchmarks.synthetic import POOLS, Synthetic
from memshare.demo.play import read
from memshare_broker import redis_server
from memshare_broker.settings import Settings
from memshare_memory.door.client import MemoryClient
from memshare_memory.door.messages import RecallRequest
from tests.support.deployment import wait_for

CALLERS, PROCESSES = 32, 4
PAUSE = 0.5  # seconds
SECONDS = 15.0
SHOWN = 3
BATCH = 256
READY_WITHIN = 120.0  # seconds; it exports the encoder first


def through_the_door(memories: int) -> dict[str, Any]:
    """Fill a pool, and ask with pauses and without."""
    world = Synthetic()
    with (
        tempfile.TemporaryDirectory(prefix="memshare-bench-") as name,
        memory_service(Settings(data=Path(name), redis_url=None, concurrency=CALLERS)) as client,
    ):
        started = time.perf_counter()
        for _ in progress(range(0, memories, BATCH), f"Importing {memories:,} memories"):
            client.restore([memory for memory, _ in world.memories(BATCH)])
        imported = memories / (time.perf_counter() - started)
        _called(Path(name), pause=0, seconds=2)
        paused = _called(Path(name), PAUSE, SECONDS)
        pressed = _called(Path(name), pause=0, seconds=SECONDS)
    return {
        "door_p50_ms": percentile(paused, 50),
        "door_p99_ms": percentile(paused, 99),
        "door_pause_seconds": PAUSE,
        "door_callers": CALLERS,
        "recalls_per_second": round(len(pressed) / SECONDS, 1),
        "door_without_pause_p50_ms": percentile(pressed, 50),
        "door_without_pause_p99_ms": percentile(pressed, 99),
        "door_imports_per_second": round(imported, 1),
    }


@contextmanager
def memory_service(settings: Settings) -> Iterator[MemoryClient]:
    """A memory worker on a Redis of its own, and a client of it."""
    environment = os.environ | {
        "MEMSHARE_DATA": str(settings.data),
        "MEMSHARE_MODEL": "offline",
        "MEMSHARE_CONCEPTS": "false",  # nobody would name them
    }
    command = [sys.executable, "-m", "celery", "-A", "memshare_memory.worker", "worker", "-Q", "memory"]
    redis = redis_server.start(settings.data)
    try:
        wait_for(redis_server.socket_path(settings.data).exists, 10, "Redis")
        with (settings.data / "memory.log").open("wb") as log:
            worker = subprocess.Popen([*command, "-l", "WARNING"], env=environment, stdout=log, stderr=log)
        try:
            with closing(MemoryClient(settings)) as client:
                client.wait_until_ready(READY_WITHIN)
                yield client
        finally:
            worker.terminate()
            worker.wait()
    finally:
        redis.terminate()
        redis.wait()


def _called(data: Path, pause: float, seconds: float) -> list[float]:
    """What each recall took in ms."""
    share = CALLERS // PROCESSES
    # Spawned, for a fork would share connections and threads with this process.
    with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as processes:
        asked = [processes.submit(_call, data, share, pause, seconds) for _ in range(PROCESSES)]
        return [taken for one in asked for taken in one.result()]


def _call(data: Path, threads: int, pause: float, seconds: float) -> list[float]:
    """The callers of one process, who share a client as the threads of an agent do."""
    prompts = [task["prompt"] for task in read("tasks.jsonl") if task.get("prompt")]
    with (
        closing(MemoryClient(Settings(data=data, redis_url=None))) as client,
        ThreadPoolExecutor(threads) as callers,
    ):
        asked = [
            callers.submit(_one_caller, client, prompts[at:] + prompts[:at], pause, seconds) for at in range(threads)
        ]
        return [taken for one in asked for taken in one.result()]


def _one_caller(client: MemoryClient, prompts: Sequence[str], pause: float, seconds: float) -> list[float]:
    client.recall(_request(prompts, 0))
    time.sleep(random.random() * pause)  # they do not come in step
    taken: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        taken.append(milliseconds(client.recall, _request(prompts, len(taken))))
        time.sleep(pause)
    return taken


def _request(prompts: Sequence[str], number: int) -> RecallRequest:
    return RecallRequest(pool=POOLS[number % len(POOLS)], text=prompts[number % len(prompts)], k=SHOWN)
