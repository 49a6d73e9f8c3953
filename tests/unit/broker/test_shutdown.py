"""The end of a worker whose time to finish is over."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import redis

from memshare_broker.worker import _hand_back


def test_a_worker_ends_though_redis_takes_nothing_back() -> None:
    def requeue() -> None:
        raise redis.ConnectionError("away")

    running: Any = SimpleNamespace(
        id="t1", name="agents.poem", acknowledged=False, message=SimpleNamespace(acknowledged=False, requeue=requeue)
    )

    child = os.fork()
    if child == 0:
        try:
            _hand_back(0, [running])
        finally:
            os._exit(7)

    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
