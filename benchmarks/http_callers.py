"""Callers in processes of their own that post to an address, as agents of others do."""

from __future__ import annotations

import json
import multiprocessing
import random
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import httpcore2

from benchmarks.report import milliseconds

PROCESSES = 4


def calls(url: str, bodies: Sequence[Mapping[str, Any]], *, callers: int, pause: float, seconds: float) -> list[float]:
    """What each call took in ms; every caller waits `pause` seconds between two."""
    share = callers // PROCESSES
    # Spawned, for a fork would share connections and threads with this process.
    with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as processes:
        asked = [
            processes.submit(_process, url, bodies[at::PROCESSES], share, pause, seconds) for at in range(PROCESSES)
        ]
        return [taken for one in asked for taken in one.result()]


def _process(url: str, bodies: Sequence[Mapping[str, Any]], threads: int, pause: float, seconds: float) -> list[float]:
    contents = [json.dumps(body).encode() for body in bodies]
    with (
        httpcore2.ConnectionPool(max_connections=threads) as pool,
        ThreadPoolExecutor(threads) as callers,
    ):
        asked = [callers.submit(_caller, pool, url, contents[at::threads], pause, seconds) for at in range(threads)]
        return [taken for one in asked for taken in one.result()]


def _caller(
    pool: httpcore2.ConnectionPool, url: str, contents: Sequence[bytes], pause: float, seconds: float
) -> list[float]:
    def call(content: bytes) -> None:
        response = pool.request("POST", url, headers={"Content-Type": "application/json"}, content=content)
        if response.status != 200:
            raise RuntimeError(f"{url} answered {response.status}: {response.content[:300]!r}")

    call(contents[0])
    time.sleep(random.random() * pause)  # they do not come in step
    taken: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        taken.append(milliseconds(call, contents[len(taken) % len(contents)]))
        time.sleep(pause)
    return taken
