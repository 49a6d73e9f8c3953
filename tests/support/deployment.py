"""A deployment for tests: real worker processes on a real Redis, with a chat server on loopback."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from memshare.client.client import Client
from memshare.client.journey import Journey
from memshare.operate.supervisor import processors
from memshare_broker.connection import connect
from memshare_broker.settings import Settings
from memshare_broker.wire.signing import open_signer
from memshare_llm.limits.concurrency import STATE
from tests.support import prepared_python
from tests.support.chat_server import ChatServer

ROOT = Path(__file__).parents[2]
START_WITHIN = 120  # seconds
T = TypeVar("T")


@dataclass
class Deployment:
    """What a test talks to. Each of `workers` is the list of queues of one process."""

    settings: Settings
    chat: ChatServer
    client: Client
    logs: Path
    environment: dict[str, str]
    processes: dict[tuple[str, ...], prepared_python.Command | subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, queues: Sequence[str], *options: str) -> None:
        """Start a worker process the plain Celery way: a package's own worker, or the one for all.

        `options` are more words of the command line.
        """
        log = self.logs / f"{'-'.join(queues)}.log"
        log.touch()
        own = {
            "scorer": "memshare_scorer.worker",
            "memory": "memshare_memory.worker",
            "concepts": "memshare_concepts.worker",
            "trainer": "memshare_trainer.worker",
        }
        app = "memshare.worker" if len(queues) > 1 else own.get(queues[0], "memshare_agents.worker")
        words = ["-A", app, "worker", "-Q", ",".join(queues), "-n", f"{queues[0]}@test", "-l", "INFO"]
        self.processes[tuple(queues)] = prepared_python.start(
            [*words, "--without-mingle", *options], self.environment, [Path(os.devnull), log, log], "celery"
        )

    def wait_until_ready(self) -> None:
        def all_there() -> bool:
            for queues, process in self.processes.items():
                assert process.poll() is None, self.log(queues)
            there = {queue for worker in self.client.workers() for queue in worker.queues}
            return there >= {queue for queues in self.processes for queue in queues}

        wait_for(all_there, START_WITHIN, "every worker to be there")

    def log(self, queues: Sequence[str]) -> str:
        return (self.logs / f"{'-'.join(queues)}.log").read_text()

    def settled(self, task_id: str, within: float = 30) -> Journey:
        """The journey of a task once it has ended, one way or the other."""
        return self.client.wait(task_id, patient(within))

    def stop(self) -> None:
        for process in self.processes.values():
            process.terminate()
        with ExitStack() as each:  # also where one does not end
            for process in self.processes.values():
                each.callback(ended, process)


def patient(seconds: float) -> float:
    """What `seconds` of an idle machine become where others use its processors, too."""
    beside = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))  # from the start on, when the load is low yet
    return seconds * max(1.0, max(os.getloadavg()[0], beside) / processors())


def ended(process: prepared_python.Command | subprocess.Popen[Any], within: float = 60) -> int:
    """The status of a process that was told to end; one that does not is killed, or a later test would find it."""
    try:
        return process.wait(patient(within))
    finally:
        process.kill()
        process.wait()


def wait_for(found: Callable[[], T | None], within: float, what: str) -> T:
    """The first true value of `found`; fails after `within` seconds of an idle machine."""
    began = time.monotonic()
    while (waited := time.monotonic() - began) < patient(within):
        value = found()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited {waited:.0f} s for {what}")


def empty(data: Path) -> None:
    """Forget the memories and keys of what ran on `data` before; its Redis goes on."""
    with connect(Settings(data=data).redis) as client:
        client.flushall()
    for path in data.glob("pool*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@contextmanager
def deployed(
    settings: Settings, chat: ChatServer, logs: Path, workers: Sequence[Sequence[str]], known: bool = True, **more: str
) -> Iterator[Deployment]:
    """Run workers while the block does. Their model is the chat server, through the real OpenAI client.

    It is known to do many calls at once, unless the test is about how that is found.
    """
    environment = prepared_python.environment() | {
        "MEMSHARE_DATA": str(settings.data),
        "MEMSHARE_MODEL": settings.model or "",
        "MEMSHARE_CONCURRENCY": "8",
        "MEMSHARE_CONCEPTS": "false",  # tests count calls and messages; those of concepts turn it on
        "MEMSHARE_CONCEPTS_WAIT": "0",  # and do not wait
        "MEMSHARE_CONSOLIDATE": "false",  # it trains on a whole processor for half a minute, whatever the test is about
        "MEMSHARE_WITHHOLD": "0",  # tests name the memories that are shown
        "OPENAI_BASE_URL": chat.url,
        "OPENAI_API_KEY": "test",
        **({"MEMSHARE_QDRANT_URL": settings.qdrant_url} if settings.qdrant_url else {}),
        **more,
    }
    open_signer(settings, make=True)  # as `memshare up` does, for workers that share a Redis by its URL
    if known:
        with connect(settings.redis) as redis_client:
            redis_client.hset(f"{STATE}{chat.url}", "limit", 64)
    client = Client(settings)
    deployment = Deployment(settings, chat, client, logs, environment)
    try:
        for queues in workers:
            deployment.start(queues)
        deployment.wait_until_ready()
        yield deployment
    finally:
        deployment.stop()
        client.close()
