"""Runs everything on one machine: Redis, one worker for all queues and, if wanted, Flower."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

import redis

from memshare.broker import redis_server
from memshare.broker.connection import connect, reaching
from memshare.broker.errors import BadInput, MemshareError, Unreachable
from memshare.broker.presence import present
from memshare.broker.settings import Settings

READY_WITHIN = 600  # seconds; a large pool builds its index first
SHORTEST_LIFE = 5  # seconds; a child that dies sooner waits as long before it is started again
PR_SET_PDEATHSIG = 1


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
        self.process, self.started = self.start(), time.monotonic()

    def revive(self) -> bool:
        """Start it again if it has died; True when it has."""
        if self.process.poll() is None or time.monotonic() - self.started < SHORTEST_LIFE:
            return False
        self.process, self.started = self.start(), time.monotonic()
        self.restarts += 1
        return True

    def stop(self, patience: float) -> None:
        if self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Supervisor:
    """The processes of one data folder. Use it inside `hold_folder`."""

    def __init__(self, settings: Settings, *, flower_port: int | None = None, flower_host: str = "127.0.0.1") -> None:
        """Raises `BadInput` where Flower would be open to other machines and ask for no password."""
        if flower_port and not is_loopback(flower_host) and settings.flower_auth is None:
            raise BadInput(
                f"Flower on {flower_host!r} can be reached from other machines, so it needs a password: set "
                "MEMSHARE_FLOWER_AUTH=USER:PASSWORD, or leave out --flower-host."
            )
        self.settings = settings
        self.children: list[Child] = []
        self._flower_port, self._flower_host = flower_port, flower_host
        self._logs = settings.data / "logs"
        self._environment = os.environ | {"MEMSHARE_DATA": str(settings.data)}
        for name, value in (("REDIS", settings.redis_url), ("QDRANT", settings.qdrant_url)):
            self._environment.pop(f"MEMSHARE_{name}_URL", None)
            if value:
                self._environment[f"MEMSHARE_{name}_URL"] = value
        self._flower_environment = dict(self._environment)
        if settings.flower_auth is not None:  # not an option, which everybody on the machine could read
            self._flower_environment["FLOWER_BASIC_AUTH"] = settings.flower_auth.get_secret_value()

    @property
    def flower_url(self) -> str | None:
        host = f"[{self._flower_host}]" if ":" in self._flower_host else self._flower_host
        return f"http://{host}:{self._flower_port}" if self._flower_port else None

    def start(self) -> None:
        """Start the children one after the other; returns when the worker takes tasks."""
        self._logs.mkdir(parents=True, exist_ok=True)
        if self._flower_port:
            _require_free(self._flower_host, self._flower_port)
        if self.settings.redis_url is not None:
            with reaching(self.settings.redis), connect(self.settings.redis, tries=1) as client:
                client.ping()
        else:
            log = self.settings.data / "redis" / "redis.log"
            ending = ends_with_parent(signal.SIGTERM)
            self.children.append(Child("redis", lambda: redis_server.start(self.settings.data, preexec_fn=ending), log))
        self._wait_for("Redis", lambda client: bool(client.ping()))
        self._run("worker", "-m", "memshare", "worker", "--all")
        if self._flower_port:
            self._run(
                "flower",
                "-m",
                "celery",
                "-A",
                "memshare.worker",
                "flower",
                f"--address={self._flower_host}",
                f"--port={self._flower_port}",
                "--max_tasks=10000",
                "--persistent=True",
                f"--db={self.settings.data / 'flower.db'}",
                environment=self._flower_environment,
            )
        self._wait_for("The worker", lambda client: any(p.pid == self._pid("worker") for p in present(client)))

    def revive(self) -> list[Child]:
        """Start again what has died; returns what was started."""
        return [child for child in self.children if child.revive()]

    def stop(self) -> None:
        """End the children, Redis last; tasks that run may finish first."""
        for child in reversed(self.children):
            child.stop(patience=self.settings.grace + 10 if child.name == "worker" else 10)
        redis_server.socket_path(self.settings.data).unlink(missing_ok=True)

    def _run(self, name: str, *arguments: str, environment: dict[str, str] | None = None) -> None:
        log = self._logs / f"{name}.log"

        def start() -> subprocess.Popen[bytes]:
            with log.open("ab") as file:
                return subprocess.Popen(
                    [sys.executable, *arguments],
                    env=environment or self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=file,
                    start_new_session=True,
                    preexec_fn=ends_with_parent(signal.SIGKILL),
                )

        self.children.append(Child(name, start, log))

    def _pid(self, name: str) -> int:
        return next(child.process.pid for child in self.children if child.name == name)

    def _wait_for(self, what: str, ready: Callable[[redis.Redis], bool]) -> None:
        client = connect(self.settings.redis, tries=0)
        deadline = time.monotonic() + READY_WITHIN
        while time.monotonic() < deadline:
            for child in self.children:
                if child.process.poll() is not None:
                    raise Unreachable(f"{child.name} ended at once: {_last_line(child.log)} See {child.log}.")
            with contextlib.suppress(redis.RedisError, OSError):
                if ready(client):
                    client.close()
                    return
            time.sleep(0.05)
        raise Unreachable(f"{what} was not ready after {READY_WITHIN} s. See {self._logs}.")


@contextlib.contextmanager
def hold_folder(data: Path) -> Iterator[None]:
    """Hold a data folder for this process; raises when it cannot be written, or another holds it."""
    try:
        data.mkdir(parents=True, exist_ok=True)
        lock = (data / "up.lock").open("a+")
    except OSError as error:
        raise BadInput(f"The data folder {str(data)!r} cannot be written: {error.strerror}.") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.seek(0)
            raise MemshareError(
                f"memshare runs already on {str(data)!r} (process {lock.read().strip() or 'unknown'}). "
                "Use it as it is, end it with Ctrl-C, or give another folder with --data."
            ) from error
        lock.seek(0)
        lock.truncate()
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone; a name is taken for one that cannot."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _require_free(host: str, port: int) -> None:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise BadInput(
                f"Flower cannot listen on {host}:{port}: {error.strerror}. Give another port with --flower-port, or 0 "
                "for none."
            ) from error


def ends_with_parent(sign: signal.Signals) -> Callable[[], None] | None:
    """What a child runs first so that it ends when its parent is killed; only Linux can do that."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return lambda: library.prctl(PR_SET_PDEATHSIG, int(sign))


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
    return lines[-1] if lines else "it said nothing."
