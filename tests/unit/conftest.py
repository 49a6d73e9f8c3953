"""A pool for unit tests: the embedded engine in a folder of the test's own, and an encoder that counts words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import redis

from memshare_broker.settings import Settings
from memshare_memory.door.client import MemoryClient
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import Recall
from memshare_memory.recall.retriever import Retriever
from memshare_memory.stores.edge_store import EdgeStore
from memshare_memory.stores.store import Layout, Store
from tests.support.doors import open_door
from tests.support.word_encoder import WordEncoder


@pytest.fixture
def encoder() -> WordEncoder:
    return WordEncoder()


@pytest.fixture
def store(tmp_path: Path, encoder: WordEncoder) -> Iterator[Store]:
    with closing(EdgeStore.open(tmp_path / "pool", Layout(encoder.name, encoder.dimension), "a test")) as edge:
        yield edge


@pytest.fixture
def recall(store: Store, encoder: WordEncoder, redis_client: redis.Redis) -> Recall:
    return Recall(store, encoder, Retriever(redis_client, encoder))


@pytest.fixture
def pool(recall: Recall, redis_client: redis.Redis) -> Pool:
    """The pool in the one generation that there is."""

    def no_other(encoder: str) -> Recall:
        raise AssertionError(f"nothing was moved to {encoder!r}")

    return Pool(redis_client, recall, no_other)


@pytest.fixture
def memory(settings: Settings, pool: Pool, redis_client: redis.Redis, tmp_path: Path) -> Iterator[MemoryClient]:
    """The memory service of the pool, behind its real door."""
    with open_door(settings.model_copy(update={"data": tmp_path}), pool, redis_client) as client:
        yield client
