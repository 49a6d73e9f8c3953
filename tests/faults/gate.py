"""A TCP relay: a way for hosts of a network to a server of this machine, and a balancer of several of them."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit, urlunsplit

CHUNK = 65_536


@contextlib.contextmanager
def gate(address: str, *urls: str) -> Iterator[str]:
    """The servers at these URLs under one address of this machine, at the URL that is yielded, while the block runs.

    Each connection goes to the next server that takes it.
    """
    parts = urlsplit(urls[0])
    targets = [(one.hostname or "", one.port or 80) for one in map(urlsplit, urls)]
    with socket.create_server((address, 0), backlog=256) as listening:
        threading.Thread(target=_accept, args=(listening, targets), name="gate", daemon=True).start()
        port = listening.getsockname()[1]
        try:
            yield urlunsplit(parts._replace(netloc=f"{address}:{port}"))
        finally:
            with contextlib.suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)


def _accept(listening: socket.socket, targets: list[tuple[str, int]]) -> None:
    with contextlib.suppress(OSError):
        while True:
            near, _ = listening.accept()
            far = _connected(targets)
            if far is None:
                near.close()
                continue
            for one, other in ((near, far), (far, near)):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=_carry, args=(one, other), name="gate", daemon=True).start()


def _connected(targets: list[tuple[str, int]]) -> socket.socket | None:
    """A connection to the next server in turn that takes it; `targets` is turned round."""
    for _ in range(len(targets)):
        targets.append(targets.pop(0))
        with contextlib.suppress(OSError):
            return socket.create_connection(targets[-1])
    return None


def _carry(one: socket.socket, other: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := one.recv(CHUNK):
            other.sendall(data)
    for end in (one, other):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
    one.close()
