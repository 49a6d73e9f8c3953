"""The client of a real `memshare serve`, on a real memory service and a real Redis."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memshare import Memory
from memshare.operations.backend import Backend
from tests.support.served import served
from tests.unit.memshare.doors.conftest import backend, recall, shelf

__all__ = ["backend", "recall", "shelf"]


@pytest.fixture
def url(backend: Backend) -> Iterator[str]:
    with served(backend) as address:
        yield address


@pytest.fixture
def client(url: str) -> Iterator[Memory]:
    """Somebody at this machine, without a token."""
    with Memory(url) as made:
        yield made
