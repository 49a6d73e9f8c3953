"""Runs everything on one machine: Redis, the memory service, agents, scorer, trainer and, if wanted, Flower."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import IO

import redis
from pydantic import SecretStr

from memshare.operate.data_folder import hold_folder
from memshare_agents.roster import load_roster
from memshare_broker import redis_server
from memshare_broker.app import CONCEPTS_QUEUE, MEMORY_QUEUE, SCORER_QUEUE, TRAINER_QUEUE
from memshare_broker.child_processes import ends_with_parent, python, signals_wait
from memshare_broker.connection import connect, wait_for_redis
from memshare_broker.errors import BadInput, Unreachable
from memshare_broker.presence import present
from memshare_broker.settings import Settings
from memshare_broker.wire.signing import open_signer

SHORTEST_LIFE = 5  # seconds; a child that dies sooner waits as long before it is started again


@dataclass
class Child:
    """A process that is started again when it dies."""

    name: str
    start: Callable[[], subprocess.Popen[bytes]]
    log: Path
    process: subprocess.Popen[bytes] = field(init=False)
    started: float = field(init=False)
    restarts: int = 0

    def __post_init__(self) -> None:
        self._logged_before = self.log.stat().st_size if self.log.exists() else 0
        self.process, self.started = self.start(), time.monotonic()

    def revive(self) -> bool:
        """Start it again if it has ended; True where it had died."""
        if self.process.poll() is None or time.monotonic() - self.started < SHORTEST_LIFE:
            return False
        with signals_wait():
            self.process, self.started = self.start(), time.monotonic()
        self.restarts += 1
        return True

    @property
    def last_line(self) -> str:
        """The last line that it has written to its log."""
        written = self.log.read_bytes()[self._logged_before :] if self.log.exists() else b""
        lines = written.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "no output, as on a full disk."

    def stop(self, patience: float) -> None:
        if self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def environment_of(settings: Settings) -> dict[str, str]:
    """This process's environment, with the places that these settings name in place of its own.

    What a file of settings said stands in it, too: the file may name places of another deployment.
    """
    environment = os.environ | {"MEMSHARE_DATA": str(settings.data)}
    environment.pop("MEMSHARE_CONFIG", None)
    for name in settings.model_fields_set - {"data", "config"}:
        if (value := getattr(settings, name)) is not None:
            text = value.get_secret_value() if isinstance(value, SecretStr) else str(value)
            environment.setdefault(f"MEMSHARE_{name.upper()}", text)
        if isinstance(value, Path):  # as it is written out: a child may run in another folder
            environment[f"MEMSHARE_{name.upper()}"] = str(value)
    for name in ("redis_url", "qdrant_url", "memory_url", "exports"):
        variable, value = f"MEMSHARE_{name.upper()}", getattr(settings, name)
        environment.pop(variable, None)
        if value:
            environment[variable] = str(value)
    return environment


def begin_command(settings: Settings, words: Sequence[str], said: IO[str]) -> subprocess.Popen[str]:
    """Run a command of memshare beside this process, which ends it; what goes wrong is written to `said`."""
    environment = environment_of(settings) | {"COLUMNS": "10000"}  # a fault is one line
    return subprocess.Popen(
        python("-m", "memshare", *words), env=environment, preexec_fn=ends_with_parent(signal.SIGTERM), text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said,
    )  # fmt: skip


NO_WORKERS = ("flower", "serve")
LOOPBACK = "127.0.0.1"
CALLS_AN_ANSWER = 2  # of the scorer, about
MOST_TASKS = 500
READY_WITHIN = 600  # seconds; a large pool builds its index first


class Supervisor:
    """The processes of one data folder. Use it inside `hold_folder`."""

    def __init__(
        self,
        settings: Settings,
        *,
        agents: int | None = None,
        flower_port: int | None = None,
        flower_host: str = "127.0.0.1",
        serve_port: int | None = None,
    ) -> None:
        """`agents` is the number of processes for the agents' queues; by default one for each processor.

        Raises `BadInput` where Flower would be open to other machines and ask for no password."""
        if flower_port and not is_loopback(flower_host) and settings.flower_auth is None:
            raise BadInput(
                f"Flower on {flower_host!r} can be reached from other machines, so it needs a password: set "
                "MEMSHARE_FLOWER_AUTH=USER:PASSWORD, or leave out --flower-host."
            )
        self.settings = settings
        self.children: list[Child] = []
        self._flower_port, self._flower_host = flower_port, flower_host
        self._serve_port = serve_port
        self._logs = settings.data / "logs"
        self._agents = agents or processors()
        self._workers = 0
        self._environment = environment_of(settings)

    @property
    def flower_auth(self) -> str:
        """USER:PASSWORD of Flower, which shows what all tasks say: as it was set, or made once for a data folder."""
        if self.settings.flower_auth is not None:
            return self.settings.flower_auth.get_secret_value()
        file = self.settings.data / "flower.password"
        if not file.exists():
            file.touch(0o600)
            file.write_text(f"memshare:{secrets.token_urlsafe(12)}", "utf-8")
        return file.read_text("utf-8")

    @property
    def flower_url(self) -> str | None:
        host = f"[{self._flower_host}]" if ":" in self._flower_host else self._flower_host
        return f"http://{host}:{self._flower_port}" if self._flower_port else None

    @property
    def doing(self) -> str:
        """Current step of the start, where that takes long."""
        said = next((child.last_line for child in self.children if child.name == "memory"), "")
        return said.rstrip(".") if said.startswith("Exporting the encoder") else "Starting"

    @property
    def serve_url(self) -> str | None:
        return f"http://{LOOPBACK}:{self._serve_port}" if self._serve_port else None

    @property
    def scorer_tasks(self) -> int | None:
        """Tasks that the one scorer runs at a time: enough to keep up with all agents, unless the number was set.

        For each answer it grades, and often compares and names concepts: two calls of the model or so, most of which
        is waiting.
        """
        if "concurrency" in self.settings.model_fields_set:
            return None
        return min(MOST_TASKS, CALLS_AN_ANSWER * self._agents * self.settings.concurrency)

    def start(self) -> None:
        """Start the children; returns when every worker takes tasks."""
        self._logs.mkdir(parents=True, exist_ok=True)
        if self._flower_port:
            _require_free(self._flower_host, self._flower_port, "Flower", "--flower-port")
        if self._serve_port:
            _require_free(LOOPBACK, self._serve_port, "REST", "--port")
        open_signer(self.settings, make=True)
        if self.settings.redis_url is not None:
            wait_for_redis(self.settings.redis)
        else:
            log = self.settings.data / "redis" / "redis.log"
            ending = ends_with_parent(signal.SIGTERM)
            start = partial(redis_server.start, self.settings.data, preexec_fn=ending)
            with signals_wait():
                self.children.append(Child("redis", start, log))
        self._wait_for("Redis", lambda client: bool(client.ping()))
        if self.settings.memory_url is None:
            self._run_worker("memory", MEMORY_QUEUE)
        for number in range(1, self._agents + 1):
            self._run_worker(f"agents-{number}", *load_roster(self.settings.agents_dir))
        self._run_worker(
            "scorer", SCORER_QUEUE, *([CONCEPTS_QUEUE] if self.settings.concepts else []), tasks=self.scorer_tasks
        )
        if self.settings.learn:
            self._run_worker("trainer", TRAINER_QUEUE)
        if self._flower_port:
            self._run(
                "flower",
                "-m",
                "celery",
                "-A",
                "memshare.operate.flower",
                "flower",
                f"--address={self._flower_host}",
                f"--port={self._flower_port}",
                "--max_tasks=10000",
                "--persistent=True",
                f"--db={self.settings.data / 'flower.db'}",
                # Not an option, which everybody on the machine could read.
                environment={**self._environment, "FLOWER_BASIC_AUTH": self.flower_auth},
                folder=self._logs,  # Celery imports the app from the folder in which it runs
            )
        if self._serve_port:
            self._run("serve", "-m", "memshare", "serve", "--port", str(self._serve_port))
        self._wait_for("A worker", self._all_present)
        if self._serve_port:
            self._wait_for("REST", lambda _: _answers(LOOPBACK, self._serve_port))

    def revive(self) -> Iterator[Child]:
        """Start again what has died; gives each one that was started."""
        yield from (child for child in self.children if child.revive())

    def stop_workers(self) -> None:
        """End all but Redis, the memory service last; tasks that run may finish, and what is counted is written."""
        for child in self.children:
            if child.name not in ("redis", "memory"):
                child.process.terminate()
        for child in reversed([child for child in self.children if child.name != "redis"]):
            child.stop(patience=10 if child.name in NO_WORKERS else self.settings.grace + 10)

    def stop(self) -> None:
        """End everything, Redis last."""
        self.stop_workers()
        for child in self.children:
            child.stop(patience=10)
        redis_server.socket_path(self.settings.data).unlink(missing_ok=True)

    def _run(
        self,
        name: str,
        *arguments: str,
        environment: dict[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        """Run Python in a child, in another `folder` where one is named."""
        log = self._logs / f"{name}.log"

        def start() -> subprocess.Popen[bytes]:
            with log.open("ab") as file:
                return subprocess.Popen(
                    python(*arguments),
                    env=environment or self._environment,
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=file,
                    start_new_session=True,
                    preexec_fn=ends_with_parent(signal.SIGKILL),
                )

        with signals_wait():
            self.children.append(Child(name, start, log))

    def _run_worker(self, name: str, *queues: str, tasks: int | None = None) -> None:
        """With MEMSHARE_METRICS_PORT the first worker serves its metrics there, and each other one at the next port."""
        own = dict(self._environment)
        if self.settings.metrics_port is not None:
            own["MEMSHARE_METRICS_PORT"] = str(self.settings.metrics_port + self._workers)
        self._workers += 1
        limit = [] if tasks is None else ["--concurrency", str(tasks)]
        self._run(name, "-m", "memshare", "worker", *queues, *limit, environment=own)

    def _all_present(self, client: redis.Redis) -> bool:
        there = {worker.pid for worker in present(client)}
        workers = [child for child in self.children if child.name not in ("redis", *NO_WORKERS)]
        return all(child.process.pid in there for child in workers)

    def _wait_for(self, what: str, ready: Callable[[redis.Redis], bool]) -> None:
        client = connect(self.settings.redis, tries=0)
        deadline = time.monotonic() + READY_WITHIN
        while time.monotonic() < deadline:
            for child in self.children:
                if child.process.poll() is not None:
                    raise Unreachable(f"{child.name} ended at once: {child.last_line} See {child.log}.")
            with contextlib.suppress(redis.RedisError, OSError):
                if ready(client):
                    client.close()
                    return
            time.sleep(0.05)
        raise Unreachable(f"{what} was not ready after {READY_WITHIN} s. See {self._logs}.")


@contextlib.contextmanager
def supervised(settings: Settings) -> Iterator[Supervisor]:
    """Hold a data folder, and run everything on it for as long as the block runs."""
    supervisor = Supervisor(settings)
    with hold_folder(settings.data):
        try:
            supervisor.start()
            yield supervisor
        finally:
            supervisor.stop()


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def is_loopback(host: str) -> bool:
    """True if an address can be reached from this machine alone; False for any name but localhost."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _answers(host: str, port: int | None) -> bool:
    with socket.create_connection((host, port or 0), timeout=1):
        return True


def _require_free(host: str, port: int, what: str, option: str) -> None:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise BadInput(
                f"{what} cannot listen on {host}:{port}: {error.strerror}. Give another port with {option}, or 0 for "
                "none."
            ) from error
