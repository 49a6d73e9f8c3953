"""A worker's own metrics, served by its main process: right for threads and for prefork."""

from __future__ import annotations

import os

from celery.worker import WorkController, state
from prometheus_client import Gauge, start_http_server

from memshare_broker.errors import BadInput

RUNNING = ("memshare_worker_running_tasks", "Tasks that this worker runs now.")
CONCURRENCY = ("memshare_worker_concurrency", "Tasks that this worker runs at a time.")


def serve(port: int, worker: WorkController) -> None:
    """Serve on all addresses until the process ends; raises `BadInput` where the port is taken."""
    running = Gauge(*RUNNING)
    running.set_function(lambda: len(state.active_requests))
    concurrency = Gauge(*CONCURRENCY)
    concurrency.set_function(lambda: worker.concurrency)  # type: ignore[attr-defined] # the stubs know of none
    try:
        server, _ = start_http_server(port)
    except OSError as error:
        raise BadInput(f"MEMSHARE_METRICS_PORT={port} cannot be listened on: {error.strerror}.") from error
    os.register_at_fork(after_in_child=server.socket.close)  # or a child left behind would hold the port
