"""The heartbeat of a worker."""

from types import SimpleNamespace

import pytest
from celery.bootsteps import CLOSE, RUN

from broker.watch import takes_tasks


@pytest.mark.parametrize(
    ("state", "active", "connected", "takes"),
    [(RUN, True, True, True), (CLOSE, True, True, False), (RUN, False, True, False), (RUN, True, False, False)],
)
def test_a_worker_takes_tasks_while_its_consumer_and_its_pool_do(
    state: int, active: bool, connected: bool, takes: bool
) -> None:
    consumer = SimpleNamespace(
        blueprint=SimpleNamespace(state=state),
        pool=SimpleNamespace(active=active),
        connection=SimpleNamespace(connected=connected),
    )

    assert takes_tasks(consumer) is takes


def test_a_worker_without_a_connection_yet_takes_none() -> None:
    consumer = SimpleNamespace(blueprint=SimpleNamespace(state=RUN), pool=SimpleNamespace(active=True), connection=None)

    assert takes_tasks(consumer) is False
