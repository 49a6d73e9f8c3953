"""`memshare up` as a process that is measured, and a bare Celery worker beside it on the same Redis."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import redis

from benchmarks.processes import family, resident_mb
from memshare_broker import redis_server
from memshare_broker.connection import connect
from memshare_broker.presence import present
from tests.support.deployment import ROOT, wait_for

READY_WITHIN = 180.0  # seconds
MEMSHARE = str(Path(sys.executable).with_name("memshare"))
LINE = b"ready."  # ends what Celery logs when a worker takes tasks


class Up:
    """`memshare up --agents 2` on a data folder, in its environment."""

    def __init__(self, data: Path, environment: dict[str, str]) -> None:
        self.data = data
        self.environment = environment | {"MEMSHARE_DATA": str(data)}
        started = time.perf_counter()
        with (data / "up.log").open("ab") as log:
            self.process = subprocess.Popen(
                [MEMSHARE, "up", "--agents", "2", *_ports(), "--json"],
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.ready_s = time.perf_counter() - started
        if not line or not json.loads(line).get("ready"):
            raise SystemExit(f"memshare up did not start: {(data / 'up.log').read_text()[-2000:]}")

    @property
    def redis_url(self) -> str:
        return redis_server.socket_url(self.data)

    def memory_by_part(self) -> dict[str, float]:
        """Resident memory in MB of each process that runs, by what it does."""
        with connect(self.redis_url) as client:
            queues = {worker.pid: worker.queues[0] for worker in present(client)}
        names = {"memory": "memory service", "scorer": "scorer", "trainer": "trainer"}
        found: dict[str, float] = {}
        for one in family([self.process.pid]):
            words = " ".join(one.cmdline())
            name = names.get(queues[one.pid], "agents") if one.pid in queues else _name(words)
            found[name] = found.get(name, 0.0) + one.memory_info().rss / 2**20
        return {name: round(size, 1) for name, size in found.items()}

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(120)
        if self.process.stdout:
            self.process.stdout.close()


class Worker:
    """One worker: ours for the queue `poem`, or a bare one. `ready_s` is how long it took to take tasks."""

    def __init__(self, command: Sequence[str], environment: dict[str, str], log: Path, url: str | None) -> None:
        """With a Redis `url` it is ready when it is announced there; without, when its log says so."""
        started = time.perf_counter()
        with log.open("wb") as file:
            self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=file, stderr=file)
        if url is None:
            wait_for(lambda: LINE in log.read_bytes(), READY_WITHIN, "a bare worker")
        else:
            with connect(url) as client:
                wait_for(lambda: self._is_there(client), READY_WITHIN, "a worker")
        self.ready_s = time.perf_counter() - started

    def _is_there(self, client: redis.Redis) -> bool:
        return any(worker.pid == self.process.pid for worker in present(client))

    @property
    def mb(self) -> float:
        return resident_mb([self.process.pid])

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)


def our_worker(up: Up) -> Worker:
    """A worker for agents, as one starts it on another machine."""
    return Worker([MEMSHARE, "worker", "poem"], up.environment, up.data / "worker.log", up.redis_url)


def bare_worker(up: Up) -> Worker:
    """A bare worker on a database of its own in the same Redis, with as many threads as ours has."""
    command = [sys.executable, "-m", "celery", "-A", "benchmarks.bare_worker", "worker", "-P", "threads", "-c", "32"]
    return Worker([*command, "-l", "INFO"], bare_environment(up), up.data / "bare.log", None)


def bare_environment(up: Up) -> dict[str, str]:
    """The environment of bare workers and of who submits to them."""
    return up.environment | {"BARE_BROKER": f"redis+socket://{redis_server.socket_path(up.data)}?virtual_host=1"}


@contextmanager
def running(data: Path, environment: dict[str, str]) -> Iterator[Up]:
    """`memshare up` runs while the block does."""
    up = Up(data, {**os.environ, **environment})
    try:
        yield up
    finally:
        up.stop()


def _name(words: str) -> str:
    if " up " in words:
        return "up"
    return next((part for part in ("flower", "serve") if f" {part} " in words), "redis")


def _ports() -> list[str]:
    """Free ports for Flower and for REST."""
    with socket.create_server(("127.0.0.1", 0)) as flower, socket.create_server(("127.0.0.1", 0)) as rest:
        return ["--flower-port", str(flower.getsockname()[1]), "--port", str(rest.getsockname()[1])]
