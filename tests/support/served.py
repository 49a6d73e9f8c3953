"""`memshare serve` on a port of its own, in a thread, and a way to lose what it answers."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from memshare.doors.server import listen, server_of
from memshare.operations.backend import Backend
from tests.support.deployment import wait_for
from tests.support.raw_server import RawServer, raw_server


@contextmanager
def served(backend: Backend, port: int = 0) -> Iterator[str]:
    """Serve on loopback while the block runs; gives the address."""
    with running(server_of(backend), port) as url:
        yield url


@contextmanager
def running(server: uvicorn.Server, port: int = 0) -> Iterator[str]:
    """Run a server while the block does; gives the address."""
    with listen("127.0.0.1", port) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, name="serve")
        thread.start()
        try:
            wait_for(lambda: server.started, 10, "the server to start")
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(10)


@contextmanager
def losing_answers(url: str, lost: int) -> Iterator[RawServer]:
    """A server that passes requests on to another one, and hangs up in place of so many answers."""
    host, _, port = url.removeprefix("http://").partition(":")

    def answer(connection: socket.socket, _: threading.Event) -> None:
        request = server.asked[-1].replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1)
        with socket.create_connection((host, int(port)), timeout=10) as onward:
            onward.sendall(request)
            parts = []
            while part := onward.recv(65_536):
                parts.append(part)
        if len(server.asked) > lost:
            with contextlib.suppress(OSError):
                connection.sendall(b"".join(parts))

    with raw_server(answer) as server:
        yield server
