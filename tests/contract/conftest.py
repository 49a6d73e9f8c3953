"""The places where a store can be, for the suites that run over every one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from memshare_memory.stores.edge_store import EdgeStore
from memshare_memory.stores.server_store import ServerStore
from memshare_memory.stores.store import Layout, Store
from tests.support import qdrant_server
from tests.support.memories import LAYOUT

Open = Callable[[Layout], Store]


@pytest.fixture(params=["edge", "server"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens a store on one place, empty at first; what it opened is closed after the test."""
    with ExitStack() as stack:
        if request.param == "edge":
            yield lambda layout: stack.enter_context(closing(EdgeStore.open(tmp_path / "pool", layout, "a test")))
            return
        url = stack.enter_context(qdrant_server.emptied())
        yield lambda layout: stack.enter_context(closing(ServerStore.open(url, None, layout)))


@pytest.fixture
def store(opener: Open) -> Store:
    return opener(LAYOUT)
