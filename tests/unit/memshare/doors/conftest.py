"""The REST door over a real memory service and a real Redis; no worker takes what it hands in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest
import redis
from fastapi.testclient import TestClient

from memshare.doors.server import rest_app
from memshare.operations.backend import Backend
from memshare_broker.delivery.dead_letters import letter_for
from memshare_broker.delivery.schema import Entry
from memshare_broker.errors import GiveUp
from memshare_broker.settings import Settings
from memshare_broker.wire.signing import open_signer
from memshare_memory.belief.credibility_ranking import CredibilityRanking
from memshare_memory.curate.requests import NewMemory
from memshare_memory.door.client import MemoryClient
from memshare_memory.recall.recall import Recall
from memshare_memory.recall.retriever import Retriever
from memshare_memory.stores.store import Store
from tests.support.word_encoder import WordEncoder

Tokened = Callable[..., TestClient]


@pytest.fixture
def recall(store: Store, encoder: WordEncoder, redis_client: redis.Redis) -> Recall:
    """As in a memory service: what was found is ranked by what it was worth, too."""
    return Recall(store, encoder, Retriever(redis_client, encoder), CredibilityRanking(redis_client))


@pytest.fixture
def backend(settings: Settings, memory: MemoryClient, tmp_path: Path) -> Iterator[Backend]:  # noqa: ARG001
    """What the doors work with: Redis of the session, and the memory service of the test."""
    own = settings.model_copy(update={"redis_url": settings.redis, "data": tmp_path})
    open_signer(own, make=True)
    with closing(Backend(own)) as made:
        yield made


@pytest.fixture
def here(backend: Backend) -> TestClient:
    """Somebody at this machine, without a token."""
    app = rest_app(backend)
    app.state.is_same_user = lambda *_: True  # there is no connection that a kernel would know
    return TestClient(app, base_url="http://127.0.0.1", client=("127.0.0.1", 50_000))


@pytest.fixture
def tokened(backend: Backend) -> Tokened:
    """Makes a token, and somebody elsewhere who has it."""

    def make(name: str, *may: str, pools: tuple[str, ...] | None = ("logic",)) -> TestClient:
        text = backend.tokens.create(name, may, pools)
        return TestClient(
            rest_app(backend), headers={"Authorization": f"Bearer {text}"}, client=("192.0.2.7", 50_000),
            raise_server_exceptions=False,
        )  # fmt: skip

    return make


@pytest.fixture
def shelf(memory: MemoryClient) -> dict[str, str]:
    """A memory in each of two pools: the pool → its id."""
    logic = NewMemory(pool="logic", prompt="red lamp by the sea", answer="A light.", new_pool=True, kind="riddle")
    poem = NewMemory(pool="poem", prompt="red lamp by the sea", answer="A secret poem.", new_pool=True)
    return dict(zip(("logic", "poem"), map(str, memory.add([logic, poem])), strict=True))


def bodies(client: redis.Redis) -> list[str]:
    """The open messages, as the ledger has them."""
    return list(client.hvals("memshare:messages"))


def bury(backend: Backend, agent: str, said: str) -> str:
    """Give up a task of an agent; its id."""
    entry = Entry(
        id=str(uuid4()), task=f"agents.{agent}", queue=agent, body={"prompt": said}, journey=str(uuid4()),
        stage="answer",
    )  # fmt: skip
    backend.client.dead_letters.add(letter_for(entry, GiveUp(said), tries=1))
    return entry.id
