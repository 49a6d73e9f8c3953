"""An embeddings server on loopback that follows a script: it speaks OpenAI's `/v1/embeddings`."""

from __future__ import annotations

import base64
import contextlib
import json
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

KEY = "the right key"
DIMENSION = 16


@dataclass(frozen=True)
class Sent:
    """What the server sends to one request; `delay` is the seconds before it."""

    body: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0


Script = Callable[[dict[str, Any]], Sent]


def numbers(text: str, dimension: int = DIMENSION) -> list[float]:
    """The vector of a text: always the same, and not of length 1."""
    drawn = np.random.default_rng(zlib.crc32(text.encode())).normal(size=dimension)
    return [float(number) for number in (3 * drawn).astype("<f4")]


def embeddings(request: dict[str, Any], dimension: int = DIMENSION) -> list[dict[str, Any]]:
    """What a server sends for the texts of a request, in the format that was asked for."""
    found: list[dict[str, Any]] = []
    for index, text in enumerate(request["input"]):
        vector: Any = numbers(text, dimension)
        if request["encoding_format"] == "base64":
            vector = base64.b64encode(np.array(vector, dtype="<f4").tobytes()).decode()
        found.append({"object": "embedding", "index": index, "embedding": vector})
    return found


def listed(found: list[dict[str, Any]]) -> Sent:
    """Embeddings as the body of a response."""
    return Sent({"object": "list", "model": "small", "data": found, "usage": {"prompt_tokens": 1, "total_tokens": 1}})


def refused(status: int, words: str, **headers: str) -> Sent:
    """An error in OpenAI's form."""
    error = {"message": words, "type": "error", "code": None}
    return Sent({"error": error}, status, {name.replace("_", "-"): value for name, value in headers.items()})


def well(request: dict[str, Any]) -> Sent:
    """The script of a server without faults; OpenAI's refuses empty texts, too many and too long ones."""
    texts = request["input"]
    if not all(text.strip() for text in texts):
        return refused(400, "input cannot be an empty string.")
    if len(texts) > 2_048 or sum(len(text.encode()) for text in texts) > 300_000:
        return refused(400, "too many inputs")
    if max(len(text.encode()) for text in texts) > 8_192:
        return refused(400, "maximum input length is 8192 tokens.")
    return listed(embeddings(request))


class EmbeddingServer(ThreadingHTTPServer):
    """The server: `url` is what goes into `OPENAI_BASE_URL`, `requests` the bodies it was sent."""

    daemon_threads = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        self.script: Script = well
        self.requests: list[dict[str, Any]] = []
        self.closing = threading.Event()


class _Handler(BaseHTTPRequestHandler):
    server: EmbeddingServer
    # A connection a request: the threads that served them end by themselves.
    protocol_version = "HTTP/1.0"

    def do_POST(self) -> None:
        request: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(request)
        if self.path != "/v1/embeddings":
            sent = refused(404, f"no such path: {self.path}")
        elif self.headers["Authorization"] != f"Bearer {KEY}":
            sent = refused(401, "Incorrect API key provided.")
        else:
            sent = self.server.script(request)
        self.server.closing.wait(sent.delay)
        content = json.dumps(sent.body).encode()
        with contextlib.suppress(ConnectionError):  # a client that gave up waiting
            self.send_response(sent.status)
            for name, value in {"Content-Type": "application/json", **sent.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing: a test's output is its own."""


@contextlib.contextmanager
def serving() -> Iterator[EmbeddingServer]:
    """A server that runs in this process while the block does."""
    server = EmbeddingServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, name="embedding-server")
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
