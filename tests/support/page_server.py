"""A web server on loopback that answers each path as it is told."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Reply = Callable[[BaseHTTPRequestHandler], None]


class PageServer(ThreadingHTTPServer):
    """Answers each path as told; `asked` are the paths and hosts of what came, `ending` is set when it must stop."""

    daemon_threads = False  # a thread is waited for at the end

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.replies: dict[str, Reply] = {}
        self.asked: list[tuple[str, str]] = []
        self.ending = threading.Event()

    def page(self, path: str, body: bytes, status: int = 200, **headers: str) -> str:
        """Answer a path with this; returns its URL. Headers are written as `content_type`."""

        def reply(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(status)
            for name, value in {"content_type": "text/html", "content_length": str(len(body)), **headers}.items():
                if value:
                    handler.send_header(name.replace("_", "-"), value)
            handler.end_headers()
            handler.wfile.write(body)

        self.replies[path] = reply
        return self.url + path

    def redirect(self, path: str, target: str) -> str:
        return self.page(path, b"", 302, location=target)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up in the middle is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers["Host"]))
        # The thread must end with the reply, whatever the client keeps open.
        self.close_connection = True
        self.server.replies[self.path.partition("?")[0]](self)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name it has in the library
        """The test's output is the test's."""
