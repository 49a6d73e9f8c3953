from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path

import pytest
import redis

from memshare_memory.curate.curate import Curate
from memshare_memory.curate.forgetting import Forgetting
from memshare_memory.pool.pool import Pool
from memshare_memory.stores.edge_store import EdgeStore
from memshare_memory.stores.server_store import ServerStore
from memshare_memory.stores.store import Layout, Store
from tests.support.qdrant_server import emptied
from tests.support.word_encoder import WordEncoder

ON_A_SERVER_TOO = {"test_forget", "test_trash"}
"""Files whose tests have their pool on a Qdrant server as well."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "store" in metafunc.fixturenames and metafunc.module.__name__.rpartition(".")[2] in ON_A_SERVER_TOO:
        metafunc.parametrize("store", ["embedded", "server"], indirect=True)


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path, encoder: WordEncoder) -> Iterator[Store]:
    layout = Layout(encoder.name, encoder.dimension)
    on_server = getattr(request, "param", "embedded") == "server"
    with emptied() if on_server else nullcontext() as url:
        opened = ServerStore.open(url, None, layout) if url else EdgeStore.open(tmp_path / "pool", layout, "a test")
        with closing(opened) as store:
            yield store


@pytest.fixture
def curate(pool: Pool, redis_client: redis.Redis) -> Curate:
    return Curate(pool, redis_client)


@pytest.fixture
def forgetting(pool: Pool, redis_client: redis.Redis) -> Forgetting:
    return Forgetting(pool, redis_client)
