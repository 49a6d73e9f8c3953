from __future__ import annotations

from contextlib import closing
from pathlib import Path
from uuid import UUID

import pytest
import redis

from memshare_broker.errors import BadInput, MemshareError, Unreachable
from memshare_broker.presence import Presence, announce
from memshare_broker.settings import Settings
from memshare_memory.encoders.encoder import ENCODER
from memshare_memory.memory import Memory, memory_id
from memshare_memory.pool.pool import Pages
from memshare_memory.recall.recall import vectors_of
from memshare_memory.stores.open_store import open_store
from memshare_memory.stores.store import Layout
from memshare_trainer.consolidation.pool_record import PAGE, pool_pages
from tests.support.word_encoder import WordEncoder


@pytest.fixture
def settings(tmp_path: Path, redis_folder: Path) -> Settings:
    return Settings(data=tmp_path, redis_url=f"unix://{redis_folder}/redis.sock?db=0")


@pytest.fixture
def stored(settings: Settings, encoder: WordEncoder) -> set[UUID]:
    """The ids of a pool of two pages, in a folder that nobody has open."""
    prompts = [f"task {number}" for number in range(PAGE + 1)]
    memories = [
        Memory(id=memory_id("poem", prompt, "x"), pool="poem", prompt=prompt, answer="x", created=1)
        for prompt in prompts
    ]
    with closing(open_store(settings, layout(encoder), "a test")) as store:
        store.put(list(zip(memories, vectors_of(encoder, memories), strict=True)))
    return {memory.id for memory in memories}


def layout(encoder: WordEncoder) -> Layout:
    return Layout(encoder.name, encoder.dimension)


def read(pages: Pages) -> list[UUID]:
    found, after = [], None
    while True:
        page = pages(after)
        found += [memory.id for memory in page.memories]
        after = page.after
        if after is None:
            return found


def test_all_pages_of_a_folder_are_read_and_it_is_left_free(
    settings: Settings, redis_client: redis.Redis, stored: set[UUID], encoder: WordEncoder
) -> None:
    with pool_pages(settings, redis_client) as (pages, name):
        found = read(pages)
        with pytest.raises(Unreachable, match="open already, by memshare retriever"):
            open_store(settings, layout(encoder), "another")

    assert name == encoder.name
    assert len(found) == PAGE + 1
    assert set(found) == stored
    open_store(settings, layout(encoder), "another").close()


@pytest.mark.usefixtures("stored")
def test_a_folder_that_a_worker_has_is_not_opened(
    settings: Settings, redis_client: redis.Redis, encoder: WordEncoder
) -> None:
    announce(redis_client, Presence(node="one", pid=1, incarnation="a", queues=("memory",)))
    redis_client.set(ENCODER, encoder.name)

    with pool_pages(settings, redis_client) as (_, name):
        open_store(settings, layout(encoder), "the worker").close()

    assert name == encoder.name


def test_without_a_pool_it_says_so(settings: Settings, redis_client: redis.Redis) -> None:
    with pytest.raises(BadInput, match="There is no pool at"), pool_pages(settings, redis_client):
        pass


@pytest.mark.usefixtures("stored")
def test_a_move_that_was_broken_off_at_its_end_is_to_be_completed_first(
    settings: Settings, redis_client: redis.Redis
) -> None:
    redis_client.set(ENCODER, "tests/words@0123abcd")

    with pytest.raises(MemshareError, match="completes the move"), pool_pages(settings, redis_client):
        pass
