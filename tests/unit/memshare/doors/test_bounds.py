"""`memshare serve` as a process that may open few files: connections that only wait keep nobody out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.parse
from contextlib import ExitStack

from memshare.operations.backend import Backend
from tests.support.deployment import patient
from tests.support.raw_http import answer_of, asking

FILES = 128
HEALTH = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


def test_more_idle_connections_than_files_keep_nobody_out(backend: Backend) -> None:
    environment = {
        **os.environ,
        "MEMSHARE_DATA": str(backend.settings.data),
        "MEMSHARE_REDIS_URL": backend.settings.redis,
    }
    program = f"ulimit -n {FILES}; exec {sys.executable} -m memshare serve --port 0 --json"
    with subprocess.Popen(
        ["/bin/sh", "-c", program], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        url = urllib.parse.urlsplit(json.loads(process.stdout.readline())["url"])
        address = (url.hostname or "", url.port or 0)
        try:
            with ExitStack() as held:
                for number in range(FILES + 50):
                    source = f"127.0.0.{number % 4 + 2}"
                    half = b"GET / HTTP/1.1\r\n" if number % 2 else b""
                    held.enter_context(asking(address, half, source))
                for source in ("127.0.0.1", "127.0.0.2"):
                    with asking(address, HEALTH, source) as connection:
                        assert answer_of(connection).status == 200
        finally:
            process.terminate()
            _, told = process.communicate(timeout=patient(15))

    assert len(told.splitlines()) == 1, told
    assert f"{FILES // 2} connections" in told
