"""A Phoenix of Arize, where there is one: `phoenix` on the PATH, or the program that MEMSHARE_TEST_PHOENIX names.

It is a large install, so it has an environment of its own: `pip install arize-phoenix` in it.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2

from tests.support.deployment import wait_for

PROGRAM = os.environ.get("MEMSHARE_TEST_PHOENIX") or shutil.which("phoenix")  # before a test takes the settings away
MISSING = (
    "there is no Phoenix: put `phoenix` of the package arize-phoenix on the PATH, or name it in MEMSHARE_TEST_PHOENIX"
)
READY_WITHIN = 240.0  # seconds: it makes its tables and imports for long
SPANS = """query ($trace: String!) {
  getTraceByOtelId(traceId: $trace) {
    spans(first: 1000) { edges { node {
      name spanKind tokenCountTotal cumulativeTokenCountTotal statusCode
      spanId parentId attributes
      events { name attributes }
      spanAnnotations { name score label }
    } } }
  }
}"""


class Phoenix:
    """A running one: `url` is what goes into OTEL_EXPORTER_OTLP_ENDPOINT."""

    def __init__(self, url: str) -> None:
        self.url = url

    def spans(self, trace: str) -> list[dict[str, Any]]:
        """The spans of a trace as its page asks for them; none while it knows nothing of it."""
        asked = {"query": SPANS, "variables": {"trace": trace}}
        reply = httpx2.post(f"{self.url}/graphql", json=asked, timeout=30).json()
        assert not reply.get("errors"), reply["errors"]
        found = reply["data"]["getTraceByOtelId"]
        return [edge["node"] for edge in found["spans"]["edges"]] if found else []


@contextmanager
def phoenix(folder: Path) -> Iterator[Phoenix]:
    """One that runs while the block does, with its data in a folder."""
    assert PROGRAM is not None
    port, grpc_port = _free_ports(2)
    own = {
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(grpc_port),
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    url, log = f"http://127.0.0.1:{port}", folder / "phoenix.log"
    with log.open("wb") as file:
        process = subprocess.Popen([PROGRAM, "serve"], env=os.environ | own, stdout=file, stderr=file)

    def ready() -> bool:
        assert process.poll() is None, log.read_text()[-2_000:]
        try:
            return httpx2.get(f"{url}/healthz", timeout=5).status_code == 200
        except httpx2.HTTPError:
            return False

    try:
        wait_for(ready, READY_WITHIN, "Phoenix")
        yield Phoenix(url)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(30)


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(closing(socket.socket())) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
