"""The app that Flower is started with: the queues and their events, and none of the workers' packages.

`celery -A memshare.operate.flower flower` runs it, on loopback and read only unless an option says otherwise.
Flower asks workers what they do when it starts, and no worker that comes later. Here it asks those as well, as soon as
it hears of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from flower.app import Flower
from tornado.ioloop import PeriodicCallback
from tornado.options import options

from memshare_broker.app import make_app
from memshare_broker.observe.logs import set_up
from memshare_broker.settings import load_settings

LOOK_EVERY = 1_000.0  # milliseconds
ASKED = frozenset({"active_queues", "stats", "registered", "conf"})  # what Flower's pages are made of


def ask_new(flower: Flower) -> None:
    """Ask the workers that Flower has heard of and knows not all about: a busy one may have answered some questions."""
    for name, worker in flower.events.state.workers.items():
        if worker.alive and not flower.workers.get(name, {}).keys() >= ASKED:
            flower.update_workers(name)


def asking(start: Callable[[Flower], None]) -> Callable[[Flower], None]:
    """Flower's start, from which on it asks new workers."""

    @functools.wraps(start)
    def started(flower: Flower) -> None:
        PeriodicCallback(lambda: ask_new(flower), LOOK_EVERY).start()
        start(flower)

    return started


options.address, options.read_only = "127.0.0.1", True  # else strangers could send tasks and stop workers
Flower.start = asking(Flower.start)
if load_settings().log_format == "json":
    set_up("json")  # a root logger that has a handler gets none of Tornado's
app = make_app()
