"""Something else at the socket of the memory service, which answers garbage: each connection another kind."""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

from memshare_broker.private_files import make_room
from memshare_memory.door.client import socket_of

NEVER_STORED = UUID(int=0)
"""The memory that a reply speaks of: an answer that was shown it was made from garbage."""
_MEMORY = {"id": str(NEVER_STORED), "pool": "poem", "prompt": "Who?", "answer": "Nobody.", "created": 0}
_RECOLLECTION = json.dumps({"found": [{"memory": _MEMORY, "similarity": 0.9}], "retriever_version": 0}).encode()


def _http(status: str, body: bytes, length: int | None = None) -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body) if length is None else length}\r\n\r\n".encode() + body


GARBAGE: Mapping[str, bytes | None] = {
    "a closed connection": b"",
    "half an answer": _http("200 OK", _RECOLLECTION[: len(_RECOLLECTION) // 2], len(_RECOLLECTION)),
    "silence": None,
    "JSON of something else": _http("200 OK", b'{"status":"ok"}'),
    "JSON that breaks off": _http("200 OK", _RECOLLECTION[:-1]),
    "what another release might answer": _http("200 OK", _RECOLLECTION),
    "an error page": _http("502 Bad Gateway", b"<html>502 Bad Gateway</html>"),
    "no such page": _http("404 Not Found", b""),
    "another protocol": b"SSH-2.0-OpenSSH_9.2\r\n",
    "noise": bytes(range(256)) * 40,
}
"""What is said to a request; silence lasts until the impostor goes."""


class Impostor:
    """Listens at the memory service's socket; `given` are the kinds of garbage that somebody got."""

    def __init__(self, data: Path) -> None:
        self.given: set[str] = set()
        self._over = threading.Event()
        self._numbers = itertools.count()
        make_room(socket_of(data), data)
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(str(socket_of(data)))
        self._listening.listen(1024)
        threading.Thread(target=self._accept, name="impostor", daemon=True).start()

    def close(self) -> None:
        """Go away, and break off what is silent."""
        self._over.set()
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _accept(self) -> None:
        kinds = list(GARBAGE)
        with contextlib.suppress(OSError):
            while True:
                asking, _ = self._listening.accept()
                kind = kinds[next(self._numbers) % len(kinds)]
                threading.Thread(target=self._answer, args=(asking, kind), daemon=True).start()

    def _answer(self, asking: socket.socket, kind: str) -> None:
        with asking, contextlib.suppress(OSError):
            if not asking.recv(65_536):
                return
            self.given.add(kind)
            reply = GARBAGE[kind]
            if reply is None:
                self._over.wait()
            else:
                asking.sendall(reply)


@contextmanager
def impostor(data: Path) -> Iterator[Impostor]:
    """An impostor for as long as the block runs, whoever takes its place meanwhile."""
    made = Impostor(data)
    try:
        yield made
    finally:
        made.close()
