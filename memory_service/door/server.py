"""Serves the door in a thread of the memory worker: at a Unix socket of the data folder, or at an address."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading

import uvicorn
from starlette.applications import Starlette

from memshare.broker import sockets
from memshare.broker.errors import BadInput, Unreachable
from memshare.broker.settings import Settings
from memshare.memory_service.door.address import socket_of

log = logging.getLogger(__name__)

BACKLOG = 2048
KEEP_ALIVE = 75  # seconds that a connection may be idle; longer than clients keep one
START_WITHIN = 30.0  # seconds
END_WITHIN = 5  # seconds for requests that are being answered


class DoorServer:
    """An HTTP server in a thread of its own, until it is closed."""

    def __init__(self, app: Starlette, listening: socket.socket) -> None:
        self._socket = listening
        config = uvicorn.Config(
            app,
            log_config=None,
            log_level="warning",
            access_log=False,
            lifespan="off",
            ws="none",
            backlog=BACKLOG,
            timeout_keep_alive=KEEP_ALIVE,
            timeout_graceful_shutdown=END_WITHIN,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="memshare-door", daemon=True)

    def start(self) -> None:
        """Return when requests are answered."""
        self._thread.start()
        deadline = threading.Event()
        for _ in range(int(START_WITHIN * 100)):
            if self._server.started:
                return
            deadline.wait(0.01)
        raise Unreachable(f"The door of the memory service did not open within {START_WITHIN:.0f} s.")

    def close(self) -> None:
        """Take no new requests, answer those that are there, and end."""
        self._server.should_exit = True
        self._thread.join(END_WITHIN + 5)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=self._server.config.get_loop_factory()) as runner:
            runner.run(self._server.serve(sockets=[self._socket]))


def listen(settings: Settings) -> socket.socket:
    """The socket that the settings ask for, bound; raises `BadInput` where it cannot be."""
    if settings.memory_listen is None:
        return _listen_at_socket(settings)
    if settings.memory_token is None:
        raise BadInput(
            f"MEMSHARE_MEMORY_LISTEN={settings.memory_listen!r} opens the pool to the network, so it needs a token: "
            "set MEMSHARE_MEMORY_TOKEN, here and for every worker and command."
        )
    host, _, port = settings.memory_listen.rpartition(":")
    host = host.strip("[]")
    try:
        return socket.create_server(
            (host, int(port)), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=BACKLOG
        )
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadInput(f"MEMSHARE_MEMORY_LISTEN={settings.memory_listen!r} cannot be listened on: {reason}.") from error


def _listen_at_socket(settings: Settings) -> socket.socket:
    path = socket_of(settings.data)
    sockets.make_room(path, settings.data)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # Bound aside and renamed, so that nobody can connect before only its owner can.
    aside = path.with_suffix(f".{os.getpid()}")
    aside.unlink(missing_ok=True)
    listening.bind(str(aside))
    aside.chmod(0o600)
    aside.rename(path)
    listening.listen(BACKLOG)
    return listening
