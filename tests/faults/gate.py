"""A way for hosts of a network to a server of this machine that listens on loopback alone: a TCP relay."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit, urlunsplit

CHUNK = 65_536


@contextlib.contextmanager
def gate(url: str, address: str) -> Iterator[str]:
    """The server at `url` under an address of this machine, at the URL that is yielded, while the block runs."""
    parts = urlsplit(url)
    target = (parts.hostname or "", parts.port or 80)
    with socket.create_server((address, 0), backlog=256) as listening:
        threading.Thread(target=_accept, args=(listening, target), name="gate", daemon=True).start()
        port = listening.getsockname()[1]
        try:
            yield urlunsplit(parts._replace(netloc=f"{address}:{port}"))
        finally:
            with contextlib.suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)


def _accept(listening: socket.socket, target: tuple[str, int]) -> None:
    with contextlib.suppress(OSError):
        while True:
            near, _ = listening.accept()
            try:
                far = socket.create_connection(target)
            except OSError:
                near.close()
                continue
            for one, other in ((near, far), (far, near)):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=_carry, args=(one, other), name="gate", daemon=True).start()


def _carry(one: socket.socket, other: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := one.recv(CHUNK):
            other.sendall(data)
    for end in (one, other):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
    one.close()
