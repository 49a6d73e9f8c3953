"""The Qdrant that tests use: the one that is named, one on the PATH, one in a container, or else the stand-in.

`MEMSHARE_TEST_QDRANT_URL` names one; its collections that begin with `memshare` are removed.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock
from qdrant_client import QdrantClient

from memshare_broker.child_processes import ends_with_parent
from tests.support import qdrant_container, qdrant_stand_in

NAMED = os.environ.get("MEMSHARE_TEST_QDRANT_URL")  # before a test takes the settings of the machine away
READY_WITHIN = 60.0  # seconds
STAND_IN, FROM_PATH, OF_VARIABLE = "its stand-in", "a server from the PATH", "the server of MEMSHARE_TEST_QDRANT_URL"


class Place(NamedTuple):
    """A real server: what it is, in words, and its address."""

    what: str
    url: str


_emptied = threading.Lock()
_in_use: list[str] = []
seen: set[str] = set()
"""What the test that runs now has had for a Qdrant, in words; `begin_test` forgets that of the test before."""


def begin_test() -> None:
    """Another test begins; its fixtures may have had a Qdrant for a while."""
    seen.clear()
    seen.update(_in_use)


@contextmanager
def in_use(what: str) -> Iterator[None]:
    """Every test that runs while the block does has this for a Qdrant."""
    _in_use.append(what)
    seen.add(what)
    try:
        yield
    finally:
        _in_use.remove(what)


@contextmanager
def emptied() -> Iterator[str]:
    """A Qdrant with nothing of memshare's in it, at the address that is yielded; one test of a process has it."""
    assert _emptied.acquire(blocking=False), "another fixture of this process has it"
    with ExitStack() as held:
        held.callback(_emptied.release)
        place = real()
        if place is None:
            url = held.enter_context(qdrant_stand_in.serving())
        else:
            url = place.url
            if url == NAMED:
                held.enter_context(FileLock(_lock_of(url)))  # other test processes use it, too
            empty(url)
        held.enter_context(in_use(place.what if place else STAND_IN))
        yield url


def is_there() -> bool:
    """Whether a real server is named, or can be started from the PATH or in a container."""
    return bool(NAMED or shutil.which("qdrant") or (qdrant_container.has_engine() and real()))


@functools.cache
def real() -> Place | None:
    """The real server of this process, started if need be; None where there is none."""
    if NAMED:
        return Place(OF_VARIABLE, NAMED)
    running = ExitStack()
    atexit.register(running.close)
    if shutil.which("qdrant"):
        folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="memshare-qdrant-")))
        process = QdrantProcess(folder)
        process.start()
        running.callback(process.send_signal, signal.SIGKILL)
        return Place(FROM_PATH, process.url)
    with suppress(qdrant_container.NoContainer):
        return Place("a server in a container", running.enter_context(qdrant_container.running()))
    return None


def empty(url: str) -> None:
    """Remove what memshare has on a server."""
    with closing(QdrantClient(url=url, timeout=60, check_compatibility=False)) as client:
        for one in client.get_collections().collections:
            if one.name.startswith("memshare"):
                client.delete_collection(one.name)


class QdrantProcess:
    """The `qdrant` of the PATH with a folder of its own, on a port that stays the same when it is started again.

    `options` are of its command line; `environment` counts from the next start on.
    """

    def __init__(self, folder: Path, *options: str, **environment: str) -> None:
        self._folder = folder
        self._port, grpc_port = _free_port(), _free_port()
        scheme = "https" if "QDRANT__TLS__CERT" in environment else "http"
        self.url = f"{scheme}://127.0.0.1:{self._port}"
        self._options = options
        self.environment = environment
        self._own = {
            "QDRANT__SERVICE__HOST": "127.0.0.1",
            "QDRANT__SERVICE__HTTP_PORT": str(self._port),
            "QDRANT__SERVICE__GRPC_PORT": str(grpc_port),
            "QDRANT__STORAGE__STORAGE_PATH": str(folder / "storage"),
            "QDRANT__STORAGE__SNAPSHOTS_PATH": str(folder / "snapshots"),
            "QDRANT__STORAGE__WAL__WAL_CAPACITY_MB": "1",
            "QDRANT__TELEMETRY_DISABLED": "true",
            "QDRANT__LOG_LEVEL": "WARN",
        }
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and return when it answers."""
        with (self._folder / "qdrant.log").open("ab") as log:
            self._process = subprocess.Popen(
                ["qdrant", "--disable-telemetry", *self._options],
                cwd=self._folder,
                env=os.environ | self._own | self.environment,
                stdout=log,
                stderr=log,
                preexec_fn=ends_with_parent(signal.SIGKILL),
            )
        deadline = time.monotonic() + READY_WITHIN
        while not self._is_ready():
            assert self._process.poll() is None, (self._folder / "qdrant.log").read_text()
            assert time.monotonic() < deadline, f"no answer at {self.url}"
            time.sleep(0.05)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def has_ended(self) -> bool:
        """Whether it ended, by a signal or by itself."""
        return self._process is None or self._process.poll() is not None

    def send_signal(self, sig: int) -> None:
        """Send it a signal; one that ends it has done so when this returns."""
        assert self._process is not None
        self._process.send_signal(sig)
        if sig in (signal.SIGKILL, signal.SIGTERM):
            self._process.wait(60)

    @contextmanager
    def running(self) -> Iterator[QdrantProcess]:
        """It runs while the block does."""
        self.start()
        try:
            with in_use(FROM_PATH):
                yield self
        finally:
            self.send_signal(signal.SIGKILL)

    def _is_ready(self) -> bool:
        anybody = ssl._create_unverified_context()  # who it is, a test of certificates asks
        with suppress(OSError), urllib.request.urlopen(f"{self.url}/readyz", timeout=5, context=anybody) as answer:
            return bool(answer.status == 200)
        return False


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def _lock_of(url: str) -> Path:
    return Path(tempfile.gettempdir()) / f"memshare-qdrant-{hashlib.sha256(url.encode()).hexdigest()[:16]}.lock"
