from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
import redis

from memshare_broker.errors import TryAgain, Unreachable
from memshare_memory.encoders.encoder import ENCODER
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import Recall
from memshare_memory.recall.retriever import Retriever
from memshare_memory.stores.edge_store import EdgeStore
from memshare_memory.stores.store import Layout
from tests.support.word_encoder import WordEncoder

Open = Callable[[str], Recall]


@pytest.fixture
def open_other(tmp_path: Path, redis_client: redis.Redis, request: pytest.FixtureRequest) -> Open:
    """Opens the generation of another encoder."""

    def opened(name: str) -> Recall:
        encoder = WordEncoder(name)
        store = EdgeStore.open(tmp_path / name.replace("/", "-"), Layout(name, encoder.dimension), "a test")
        request.addfinalizer(store.close)
        return Recall(store, encoder, Retriever(redis_client, encoder))

    return opened


def test_a_pool_turns_to_another_encoder_when_redis_names_it(
    recall: Recall, redis_client: redis.Redis, open_other: Open
) -> None:
    pool = Pool(redis_client, recall, open_other)
    assert pool() is recall

    redis_client.set(ENCODER, "tests/others")

    assert pool().encoder_name == "tests/others"
    assert pool() is pool()
    with pool.writing() as written:
        assert written is pool()


def test_who_writes_turns_to_it_too(recall: Recall, redis_client: redis.Redis, open_other: Open) -> None:
    pool = Pool(redis_client, recall, open_other)
    redis_client.set(ENCODER, "tests/others")

    with pool.writing() as written:
        assert written.encoder_name == "tests/others"


def test_what_cannot_be_opened_leaves_readers_where_they_are_and_lets_nobody_write(
    recall: Recall, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[str] = []

    def closed(name: str) -> Recall:
        asked.append(name)
        raise Unreachable("It is not there yet.")

    pool = Pool(redis_client, recall, closed)
    redis_client.set(ENCODER, "tests/others")

    with caplog.at_level(logging.ERROR, "memshare_memory.pool.pool"):
        assert [pool() for _ in range(5)] == [recall] * 5
    with pytest.raises(TryAgain, match="'tests/others'"), pool.writing():
        pytest.fail("it was written to the old one")

    assert asked == ["tests/others"]  # it is tried now and then, not at every task
    assert [record.getMessage() for record in caplog.records] == [
        "Goes on with the encoder tests/words: It is not there yet."
    ]
