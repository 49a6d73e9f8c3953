"""The Redis of a run: append-only, in a folder of its own, to be killed, frozen and started again."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import redis

from memshare_broker import redis_server
from memshare_broker.child_processes import ends_with_parent
from memshare_broker.connection import DOWN, connect
from tests.faults.hosts import Host, enter

START_WITHIN = 60  # seconds; it reads its log first
PORT, PASSWORD = 6379, "only-for-this-run"


class RedisProcess:
    """The embedded Redis on the socket of a data folder; on a host of its own it listens there with a password, too."""

    def __init__(self, data: Path, environment: Mapping[str, str], host: Host | None = None) -> None:
        self.data = data
        self.url = f"redis://:{PASSWORD}@{host.address}:{PORT}/0" if host else None
        self._host = host
        self._environment = dict(environment)
        self._client = connect(redis_server.socket_url(data), tries=0)
        self._process = self._started()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def start(self) -> None:
        """Start it again on the files that it left."""
        self._process = self._started()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def cut_clients(self) -> None:
        """Let it close every connection of its clients."""
        self._client.client_kill_filter(_type="normal", skipme=True)

    def stop(self) -> None:
        self._client.close()
        self._process.kill()
        self._process.wait()
        redis_server.socket_path(self.data).unlink(missing_ok=True)

    def _prepare(self) -> None:
        os.environ.update(self._environment)
        if self._host:
            enter(self._host.namespace)
        ending = ends_with_parent(signal.SIGKILL)
        if ending:
            ending()

    def _started(self) -> subprocess.Popen[bytes]:
        process = redis_server.start(self.data, preexec_fn=self._prepare)
        deadline = time.monotonic() + START_WITHIN
        while True:
            with contextlib.suppress(*DOWN, redis.ResponseError):
                self._client.ping()
                if self._host:
                    self._client.config_set("bind", self._host.address, "port", PORT, "requirepass", PASSWORD)
                return process
            log = self.data / "redis" / "redis.log"
            assert process.poll() is None, f"Redis ended: see {log}"
            assert time.monotonic() < deadline, f"Redis did not start within {START_WITHIN} s: see {log}"
            time.sleep(0.02)
