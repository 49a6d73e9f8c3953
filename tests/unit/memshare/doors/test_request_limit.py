"""Each token may ask so many times a minute, whichever process and whichever door it asks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing, contextmanager

import httpx2
import pytest
import redis
from fastapi.testclient import TestClient
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from memshare import Memory, TryAgain
from memshare.client.errors import TooManyRequests
from memshare.doors.server import rest_app
from memshare.operations import caller_limits, sharing
from memshare.operations.backend import Backend
from memshare.operations.caller_limits import OPEN, RequestLimit, Shares
from memshare_broker.app import list_of
from memshare_broker.delivery.dead_letters import letter_for
from memshare_broker.errors import GiveUp, Unreachable
from tests.support.served import served
from tests.unit.memshare.doors.conftest import Tokened


@contextmanager
def limited(backend: Backend, per_minute: int) -> Iterator[Backend]:
    """The same deployment in another process that serves, with a limit."""
    with closing(Backend(backend.settings.model_copy(update={"request_limit": per_minute}))) as other:
        yield other


def bearer(backend: Backend, name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {backend.tokens.create(name, ('recall',), None)}"}


def test_a_token_that_asks_too_often_is_told_when_to_come_back(backend: Backend) -> None:
    ada, bea = bearer(backend, "ada"), bearer(backend, "bea")

    with limited(backend, 3) as one, limited(backend, 3) as other:
        first, second = TestClient(rest_app(one)), TestClient(rest_app(other))
        taken = [door.get("/v1/agents", headers=ada).status_code for door in (first, second, first)]
        refused = second.get("/v1/agents", headers=ada)

        assert taken == [200] * 3
        assert refused.status_code == 429
        assert 1 <= int(refused.headers["retry-after"]) <= 120
        assert "'ada'" in refused.json()["detail"]
        assert "MEMSHARE_REQUEST_LIMIT" in refused.json()["detail"]
        assert first.get("/v1/agents", headers=bea).status_code == 200
        assert first.get("/health").status_code == 200


def test_a_body_of_who_asks_too_often_is_not_read(backend: Backend) -> None:
    ada = bearer(backend, "ada")

    with limited(backend, 1) as one:
        door = TestClient(rest_app(one))
        door.get("/v1/agents", headers=ada)

        assert door.post("/v1/recall", headers=ada, content=b"x" * 2**21).status_code == 429


def test_without_tokens_an_address_is_counted(backend: Backend) -> None:
    with limited(backend, 1) as one:
        app = rest_app(one)
        app.state.is_same_user = lambda *_: True
        first, other = (TestClient(app, base_url="http://127.0.0.1", client=(f"127.0.0.{n}", 5)) for n in (1, 2))

        assert [first.get("/v1/agents").status_code for _ in range(2)] == [200, 429]
        assert "'127.0.0.1'" in first.get("/v1/agents").json()["detail"]
        assert other.get("/v1/agents").status_code == 200


def test_zero_is_no_limit_and_counts_nothing(backend: Backend, redis_client: redis.Redis) -> None:
    ada = bearer(backend, "ada")

    with limited(backend, 0) as one:
        door = TestClient(rest_app(one))
        assert {door.get("/v1/agents", headers=ada).status_code for _ in range(20)} == {200}

    assert not redis_client.keys("memshare:rate*")


def test_what_was_asked_is_forgotten_as_the_window_slides(backend: Backend) -> None:
    limit = RequestLimit(backend.redis, 4)
    for _ in range(4):
        limit.take("ada")

    with pytest.raises(TooManyRequests) as refused:
        limit.take("ada")

    assert refused.value.wait is not None
    # One of four is out of sight a quarter of a minute after the window has ended.
    assert 30 < refused.value.wait <= 76


def test_the_python_client_says_what_the_door_says(backend: Backend) -> None:
    text = backend.tokens.create("ada", ("recall",), None)

    with limited(backend, 1) as one, served(one) as url, Memory(url, token=text) as memory:
        memory.agents()
        with pytest.raises(TryAgain, match="'ada'") as refused:
            memory.agents()

    assert refused.value.wait is not None
    assert not isinstance(refused.value, Unreachable)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_of_mcp_is_told_too(mode: str, backend: Backend) -> None:
    ada = bearer(backend, "ada")

    async def ask(url: str) -> None:
        async with (
            httpx2.AsyncClient(headers=ada, timeout=30) as http,
            Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
        ):
            for _ in range(20):
                await client.read_resource("memshare://agents")

    with limited(backend, 10) as one, served(one) as url:
        with pytest.raises(BaseExceptionGroup) as told:
            asyncio.run(ask(url))
        refused = httpx2.post(f"{url}/mcp", json={}, headers=ada)

    assert told.group_contains(MCPError, match=r"token 'ada' .* again in \d+ s")
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) >= 1


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_of_mcp_without_a_token_is_told_what_to_do(mode: str, backend: Backend) -> None:
    bearer(backend, "ada")

    async def ask(url: str) -> None:
        async with Client(streamable_http_client(f"{url}/mcp"), mode=mode) as client:
            await client.read_resource("memshare://agents")

    with served(backend) as url, pytest.raises(BaseExceptionGroup) as refused:
        asyncio.run(ask(url))

    assert refused.group_contains(MCPError, match="Send a token")


def test_a_token_may_have_so_many_tasks_that_wait_and_others_go_on(
    backend: Backend, tokened: Tokened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caller_limits, "STANDS_BACK", (2, 3))
    backend.shares = Shares(backend.redis, open_limit=3, offer_limit=0)
    ada, bob = tokened("ada", "submit"), tokened("bob", "submit")

    def submitted(client: TestClient, **more: object) -> int:
        return client.post("/v1/tasks", json={"agent": "logic", "prompt": "Why?", **more}).status_code

    assert [submitted(ada) for _ in range(5)] == [202, 202, 202, 429, 429]
    assert submitted(bob) == 202
    waiting = backend.client.ledger.open_of([str(one) for one in backend.redis.zrange(f"{OPEN}ada", 0, -1)])
    assert sorted(one.priority for one in waiting) == [3, 3, 6], "who has many waiting stands back"
    assert len({list_of("logic", one.priority) for one in waiting}) == 2, "in a list that is taken from later"
    for entry in backend.client.ledger.open_of([str(one) for one in backend.redis.zrange(f"{OPEN}ada", 0, -1)])[:1]:
        backend.client.ledger.bury(entry, letter_for(entry, GiveUp("done"), tries=1).model_dump_json())
    assert [submitted(ada) for _ in range(2)] == [202, 429], "one is through"
    assert submitted(bob, priority=0) == 403
    assert submitted(tokened("root", "admin"), priority=0) == 202


def test_what_is_asked_again_counts_as_a_task_and_comes_before_nobody(
    backend: Backend, tokened: Tokened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caller_limits, "STANDS_BACK", (2, 3))
    backend.shares = Shares(backend.redis, open_limit=3, offer_limit=0)
    ada, first = tokened("ada", "submit", "watch"), {"agent": "logic", "prompt": "Why?", "priority": 0}
    task = tokened("root", "admin").post("/v1/tasks", json=first).json()["id"]

    again = [ada.post(f"/v1/journeys/{task}/again", json={}).status_code for _ in range(4)]

    assert again == [202, 202, 202, 429]
    waiting = backend.client.ledger.open_of([str(one) for one in backend.redis.zrange(f"{OPEN}ada", 0, -1)])
    assert sorted(one.priority for one in waiting) == [3, 3, 6]


def test_a_token_with_the_name_of_a_queue_has_none_of_the_tasks_of_others(backend: Backend, tokened: Tokened) -> None:
    backend.shares = Shares(backend.redis, open_limit=1, offer_limit=0)
    task = {"agent": "logic", "prompt": "Why?"}

    assert [tokened(name, "submit").post("/v1/tasks", json=task).status_code for name in ("bob", "logic")] == [202, 202]


def test_a_limit_below_those_that_stand_back_holds_too(backend: Backend, tokened: Tokened) -> None:
    backend.shares = Shares(backend.redis, open_limit=1, offer_limit=0)
    ada = tokened("ada", "submit")

    tried = [ada.post("/v1/tasks", json={"agent": "logic", "prompt": "Why?"}).status_code for _ in range(2)]

    assert tried == [202, 429]


def test_a_token_may_offer_so_many_answers_a_day(backend: Backend, tokened: Tokened) -> None:
    backend.shares = Shares(backend.redis, open_limit=0, offer_limit=2)
    ada, root = tokened("ada", "offer"), tokened("root", "admin")

    def offered(client: TestClient) -> int:
        return client.post("/v1/pairs", json={"agent": "logic", "prompt": "Why?", "answer": "So."}).status_code

    assert [offered(ada) for _ in range(3)] == [202, 202, 429]
    assert [offered(root) for _ in range(3)] == [202] * 3


def test_a_token_may_offer_so_much_text_a_day_and_have_so_many_memories(
    backend: Backend, tokened: Tokened, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend.shares = Shares(backend.redis, open_limit=0, offer_limit=1)
    long = {"agent": "logic", "prompt": "Why?", "answer": "So " * caller_limits.EACH}

    assert tokened("ada", "offer").post("/v1/pairs", json=long).status_code == 429

    monkeypatch.setattr(sharing, "_stored", lambda *_: caller_limits.DAYS)
    refused = tokened("bob", "offer").post("/v1/pairs", json=long | {"answer": "So."})
    assert refused.status_code == 429
    assert "10 memories in this pool" in refused.text
