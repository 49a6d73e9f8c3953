"""A line to a server that can be slow, and that can be cut in the middle of what it carries: a TCP proxy."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

CHUNK = 65_536


class Line:
    """Listens on a `port` of loopback and passes everything on. `delay` is in seconds, each way."""

    def __init__(self, target: Path | str, delay: float) -> None:
        """`target` is a Unix socket, or a URL of HTTP."""
        self._target = target
        self.delay = delay
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = int(self._listening.getsockname()[1])
        self._lock = threading.Lock()
        self._cuts = 0
        self.broken = 0
        threading.Thread(target=self._accept, name="line", daemon=True).start()

    def cut(self) -> None:
        """Every open connection passes on half of what comes next, either way, and is closed."""
        with self._lock:
            self._cuts += 1

    def close(self) -> None:
        self._listening.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            far = self._connected()
            if far is None:
                near.close()
                continue
            near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=(one, other, self._cuts), daemon=True).start()

    def _connected(self) -> socket.socket | None:
        if isinstance(self._target, str):
            place = urlsplit(self._target)
            with contextlib.suppress(OSError):
                return socket.create_connection((place.hostname or "", place.port or 80))
            return None
        far = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            far.connect(str(self._target))
        except OSError:
            far.close()
            return None
        return far

    def _carry(self, one: socket.socket, other: socket.socket, cuts: int) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(CHUNK):
                if self.delay:
                    time.sleep(self.delay)
                if self._cuts != cuts:
                    other.sendall(data[: len(data) // 2])
                    with self._lock:
                        self.broken += 1
                    break
                other.sendall(data)
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        one.close()


@contextlib.contextmanager
def line(target: Path | str, delay: float = 0.0) -> Iterator[Line]:
    """A line for as long as the block runs."""
    made = Line(target, delay)
    try:
        yield made
    finally:
        made.close()
