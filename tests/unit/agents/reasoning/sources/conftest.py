"""A web server on loopback for what the browser reads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from ipaddress import ip_network

import pytest

from memshare_agents.reasoning.sources.fetch import Fetcher
from tests.support.page_server import PageServer


@pytest.fixture
def web() -> Iterator[PageServer]:
    server = PageServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.ending.set()
    server.shutdown()
    server.server_close()
    thread.join(10)


@pytest.fixture
def fetcher() -> Fetcher:
    """One that may read from 127.0.0.1 alone."""
    return Fetcher([ip_network("127.0.0.1/32")], seconds=5, most=100_000)
