"""A real Qdrant server in a container, for tests alone; `python -m tests.support.qdrant_container` runs one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

IMAGE = "qdrant/qdrant:v1.19.0"


class NoContainer(Exception):
    """There is no Docker daemon here, or it cannot get the image."""


def has_engine() -> bool:
    """Whether Docker seems to run here; it may still have no image."""
    return "DOCKER_HOST" in os.environ or Path("/var/run/docker.sock").exists()


@contextmanager
def running() -> Iterator[str]:
    """A server with nothing in it, at the URL that is yielded; raises `NoContainer` with the reason.

    It is started by a process of its own: what Docker's client leaves open is then no warning of ours.
    """
    command = [sys.executable, "-m", "tests.support.qdrant_container"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        url = process.stdout.readline().strip()
        if not url:
            raise NoContainer(process.stderr.read().strip().splitlines()[-1])
        try:
            yield url
        finally:
            process.stdin.close()


if __name__ == "__main__":
    from testcontainers.community.qdrant import QdrantContainer

    with QdrantContainer(IMAGE) as container:
        host = container.get_container_host_ip()
        print(f"http://{host}:{container.get_exposed_port(6333)}", flush=True)
        sys.stdin.read()
