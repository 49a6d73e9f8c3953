"""A chat server on loopback that follows a script: it speaks chat completions, as OpenAI and Mistral do.

`python -m tests.support.chat_server --port 0 --latency 0.5` prints its address and serves until it is ended.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.chat_script import Answer, Script, encode, in_turn, well


class ChatServer(ThreadingHTTPServer):
    """The server: `url` is what goes into `OPENAI_BASE_URL`, `requests` the bodies of the completions it was asked."""

    # A burst of clients must not be turned away, and a thread is waited for at the end.
    request_queue_size = 256
    daemon_threads = False

    def __init__(self, script: Script, port: int = 0, host: str = "127.0.0.1") -> None:
        super().__init__((host, port), _Handler)
        self.script = script
        self.models: bytes | None = None
        """What `GET /v1/models` answers; without it there is no such path."""
        self.pages: dict[str, object] = {}
        """What any other path answers, as JSON, whatever the method is."""
        self.url = f"http://{host}:{self.server_port}/v1"
        self.closing = threading.Event()
        self._bodies: list[dict[str, Any]] = []
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()

    @property
    def requests(self) -> list[dict[str, Any]]:
        with self._lock:
            return list(self._bodies)

    def note(self, body: dict[str, Any]) -> None:
        with self._lock:
            self._bodies.append(body)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client that gave up waiting is what some tests are about.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def end(self) -> None:
        """Cut every connection and wait for the threads that served them."""
        self.closing.set()
        self.shutdown()
        with self._lock:
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: ChatServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        sent = self.rfile.read(length)
        if len(sent) < length:  # the client was killed
            self.close_connection = True
            return
        body: dict[str, Any] = json.loads(sent)
        if self.path == "/v1/chat/completions":
            self.server.note(body)
            answer = self.server.script(body)
        elif self.path in self.server.pages:
            answer = Answer(raw=json.dumps(self.server.pages[self.path]).encode())
        else:
            answer = Answer(status=404, text=f"no such path: {self.path}")
        if answer.delay and self.server.closing.wait(answer.delay):
            self.close_connection = True
            return
        content = encode(body, answer)
        self.send_response(answer.status)
        for name, value in {"Content-Type": "application/json", **answer.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if answer.cut:
            content = content[: len(content) // 2]
            self.close_connection = True
        part = -(-len(content) // 10) if answer.trickle else len(content)
        for start in range(0, len(content), part):
            self.wfile.write(content[start : start + part])
            self.wfile.flush()
            self.server.closing.wait(answer.trickle / 10)

    def do_GET(self) -> None:
        page = self.server.pages.get(self.path)
        known = self.server.models if self.path == "/v1/models" else json.dumps(page).encode() if page else None
        content = known or b'{"error": {"message": "Not Found"}}'
        self.send_response(200 if known else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing: a test's output is its own."""


@contextlib.contextmanager
def serving(
    script: Script = well, port: int = 0, host: str = "127.0.0.1", kind: type[ChatServer] = ChatServer
) -> Iterator[ChatServer]:
    """A server that runs in this process while the block does."""
    server = kind(script, port, host)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, name="chat-server")
    thread.start()
    try:
        yield server
    finally:
        server.end()
        thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each reply")
    options = parser.parse_args()
    with serving(in_turn(Answer(delay=options.latency)), options.port) as server:
        print(server.url, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
