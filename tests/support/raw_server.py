"""A server on loopback that reads a request and then does with its connection as it is told."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from socketserver import BaseRequestHandler, ThreadingTCPServer

Answering = Callable[[socket.socket, threading.Event], None]
"""Answers on a connection; the event is set when the server must stop."""


class RawServer(ThreadingTCPServer):
    """Answers every request in the same way; `asked` are the requests as they came."""

    allow_reuse_address = True
    daemon_threads = False  # a thread is waited for at the end
    request_queue_size = 64

    def __init__(self, answer: Answering) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.port: int = self.server_address[1]
        self.asked: list[bytes] = []
        self.ending = threading.Event()


class _Handler(BaseRequestHandler):
    server: RawServer

    def handle(self) -> None:
        with contextlib.suppress(OSError):  # a client that hangs up is what the tests are about
            self.request.settimeout(10)
            self.server.asked.append(_request(self.request))
            self.server.answer(self.request, self.server.ending)


def _request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65_536)
        if not part:
            return data
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    while len(body) < length:
        body += connection.recv(65_536)
    return head + b"\r\n\r\n" + body


def trickling(data: bytes, every: float) -> Answering:
    """Sends a byte at a time, with so many seconds in between."""

    def answer(connection: socket.socket, ending: threading.Event) -> None:
        for byte in data:
            connection.sendall(bytes([byte]))
            if ending.wait(every):
                return

    return answer


@contextmanager
def raw_server(answer: Answering) -> Iterator[RawServer]:
    server = RawServer(answer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, name="raw-server")
    thread.start()
    try:
        yield server
    finally:
        server.ending.set()
        server.shutdown()
        server.server_close()
        thread.join(10)
