"""The places where a store can be, for the suites that run over every one of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from uuid import uuid4

import pytest
from qdrant_client import QdrantClient

from memshare_memory.stores.edge_store import EdgeStore
from memshare_memory.stores.server_collection import ALIAS, current_collection
from memshare_memory.stores.server_store import ServerStore
from memshare_memory.stores.store import Layout, Store
from tests.support import qdrant_container, qdrant_server
from tests.support.locked_qdrant import locked_qdrant
from tests.support.memories import LAYOUT

Open = Callable[[Layout], Store]


@pytest.fixture(scope="session")
def real_server() -> Iterator[tuple[str, str | None]]:
    """Address and key of a real Qdrant: the configured one, else one in a container."""
    if url := os.environ.get("MEMSHARE_QDRANT_URL"):
        yield url, os.environ.get("MEMSHARE_QDRANT_API_KEY")
        return
    with ExitStack() as running:
        try:
            url = running.enter_context(qdrant_container.running())
        except qdrant_container.NoContainer as error:
            pytest.skip(f"no MEMSHARE_QDRANT_URL and no container: {error}")
        yield url, None


@pytest.fixture(params=["edge", "in memory", "stand-in", "real server"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens a store on one place, empty at first; what it opened is closed after the test."""
    with ExitStack() as stack:
        if request.param == "edge":
            yield lambda layout: stack.enter_context(closing(EdgeStore.open(tmp_path / "pool", layout, "a test")))
        elif request.param == "in memory":
            client = locked_qdrant()
            yield lambda layout: ServerStore(client, current_collection(client, layout, ALIAS, "memory"), "memory")
        elif request.param == "stand-in":
            url = stack.enter_context(qdrant_server.serving())
            yield lambda layout: stack.enter_context(closing(ServerStore.open(url, None, layout)))
        else:
            url, key = request.getfixturevalue("real_server")
            alias = f"memshare-test-{uuid4().hex}"
            stack.callback(_clean, url, key, alias)
            yield lambda layout: stack.enter_context(closing(ServerStore.open(url, key, layout, alias)))


def _clean(url: str, key: str | None, alias: str) -> None:
    with closing(QdrantClient(url=url, api_key=key, check_compatibility=False)) as client:
        for one in client.get_aliases().aliases:
            if one.alias_name == alias:
                client.delete_collection(one.collection_name)


@pytest.fixture
def store(opener: Open) -> Store:
    return opener(LAYOUT)
