"""The store of a run, as a process of its own: `qdrant` from the PATH, else the stand-in; or a server that is named."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from qdrant_client import QdrantClient

from memshare_broker.child_processes import ends_with_parent
from memshare_memory.memory import Memory
from memshare_memory.stores.points import WHOLE
from memshare_memory.stores.server_collection import ALIAS
from tests.faults.worker_process import ROOT
from tests.support.qdrant_server import OF_VARIABLE, STAND_IN, QdrantProcess, empty, in_use

PAGE = 256
KEY = "only-for-this-run"
KEYS = {"QDRANT__SERVICE__API_KEY": KEY}
"""The key of a real server, as its settings name it; others do without."""


class Ends(Protocol):
    """A process that takes signals."""

    def send_signal(self, sig: int, /) -> None: ...


class StoreProcess:
    """A Qdrant at `url`; without a process of its own it cannot be frozen."""

    def __init__(self, url: str, process: Ends | None) -> None:
        self.url = url
        self._process = process

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """The server does not answer while the block runs; it keeps its data."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def restart(self, away: float = 0.0, keys: dict[str, str] | None = None) -> None:
        """Kill the server, and start it again with its data after so many seconds; `keys` replace its own."""
        server = self._server
        server.send_signal(signal.SIGKILL)
        time.sleep(away)
        server.environment = server.environment if keys is None else keys
        server.start()

    def start_if_ended(self) -> bool:
        """Start the server again if it has ended by itself; returns whether it had."""
        ended = self._server.has_ended()
        if ended:
            self._server.start()
        return ended

    @property
    def _server(self) -> QdrantProcess:
        assert isinstance(self._process, QdrantProcess), "only a real server keeps its data"
        return self._process

    def memories(self) -> list[Memory]:
        """All that is in the store, as the server itself gives it."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of a key over plain HTTP
            client = QdrantClient(url=self.url, api_key=KEY, timeout=60, check_compatibility=False)
        found: list[Memory] = []
        after = None
        while True:
            points, after = client.scroll(ALIAS, limit=PAGE, offset=after, with_payload=True)
            found += [Memory.model_validate_json((point.payload or {})[WHOLE]) for point in points]
            if after is None:
                client.close()
                return found


@contextmanager
def store_process(url: str | None, log: Path) -> Iterator[StoreProcess]:
    """A fresh server or stand-in, or the server at `url`, emptied of what memshare has there."""
    if url:
        empty(url)
        with in_use(OF_VARIABLE):
            yield StoreProcess(url, None)
        return
    if shutil.which("qdrant"):
        folder = log.with_suffix("")
        folder.mkdir(exist_ok=True)  # it may be a disk of its own
        with QdrantProcess(folder, **KEYS).running() as server:
            yield StoreProcess(server.url, server)
        return
    with log.open("ab") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.qdrant_stand_in"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
            preexec_fn=ends_with_parent(signal.SIGKILL),
        )
    assert process.stdout is not None
    try:
        with in_use(STAND_IN):
            yield StoreProcess(process.stdout.readline().strip(), process)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
