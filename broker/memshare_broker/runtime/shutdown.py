"""The end of a worker that was told to end: its tasks may finish for a while, then they go back to their queues."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Collection, Sequence

from celery.worker import state
from celery.worker.request import Request

from memshare_broker.observe import tracing
from memshare_broker.observe.logs import ids
from memshare_broker.runtime.last_steps import take_last_steps

log = logging.getLogger(__name__)


def hand_back_after(seconds: float) -> None:
    """Let running tasks finish for so many seconds, then put them back into their queues and end the process.

    Threads cannot be ended by themselves. What they would still record stays unrecorded; the next worker does it.
    """
    taken = list(state.reserved_requests)  # Celery forgets them when it stops to consume
    timer = threading.Timer(seconds, _hand_back, args=[seconds, taken])
    timer.name, timer.daemon = "memshare-grace", True
    timer.start()


def _hand_back(seconds: float, taken: Sequence[Request]) -> None:
    try:
        _requeue(seconds, {*taken, *state.active_requests})
    except Exception:  # such as without Redis
        log.exception("What has not finished could not go back to its queue: the sweeper sends it again.")
    take_last_steps()
    tracing.end()
    logging.shutdown()
    os._exit(0)


def _requeue(seconds: float, requests: Collection[Request]) -> None:
    # To the messages themselves: what is asked of a request is done by the consumer, which has stopped.
    for request in requests:
        if request.message.acknowledged:
            continue
        if request.acknowledged:
            request.message.ack()
            continue
        request.message.requeue()
        about = ids(task_id=request.id, task=request.name)
        log.warning("Not finished %.0f s after the signal to end: back in its queue.", seconds, extra=about)
