"""What every test has: a real Redis of its own, and no way to spend money."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from memshare.broker import redis_server
from memshare.broker.connection import connect
from memshare.broker.settings import Settings


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting and no API key of the machine reaches a test."""
    for name in list(os.environ):
        if name.startswith(("MEMSHARE_", "OPENAI_", "MISTRAL_")) and name != "MEMSHARE_QDRANT_URL":
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def redis_folder() -> Iterator[Path]:
    """The data folder of a Redis that runs for the whole session."""
    with tempfile.TemporaryDirectory(prefix="memshare-test-") as name:
        data = Path(name)
        process = redis_server.start(data)
        client = connect(redis_server.socket_url(data), tries=0)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                client.ping()
                break
            except redis.ConnectionError:
                time.sleep(0.01)
        client.close()
        yield data
        process.terminate()
        process.wait(10)


@pytest.fixture
def settings(redis_folder: Path) -> Settings:
    return Settings(data=redis_folder, model="offline")


@pytest.fixture
def redis_client(settings: Settings) -> Iterator[redis.Redis]:
    """A client of an empty Redis."""
    client = connect(settings.redis)
    client.flushall()
    yield client
    client.close()
