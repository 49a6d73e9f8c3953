"""Serves the door in a thread of the memory worker."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading

import uvicorn
from starlette.applications import Starlette

from memshare_broker.errors import Unreachable
from memshare_broker.http_bounds.bounded_connection import Bounds, bounded
from memshare_broker.http_bounds.connection_count import count_for_this_process
from memshare_memory.door.app import refused_by_bounds
from memshare_memory.door.listening import BACKLOG

log = logging.getLogger(__name__)

KEEP_ALIVE = 75  # seconds that a connection may be idle; longer than clients keep one
BOUNDS = Bounds(refused_by_bounds, body_within=120.0)  # a body may have 64 MiB
START_WITHIN = 30.0  # seconds
END_WITHIN = 5  # seconds for requests that are being answered


class DoorServer:
    """An HTTP server in a thread of its own, until it is closed."""

    def __init__(self, app: Starlette, listening: socket.socket) -> None:
        self._socket = listening
        config = uvicorn.Config(
            app,
            http=bounded(BOUNDS, count_for_this_process()),
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
