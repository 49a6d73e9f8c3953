"""What the REST door says while Redis answers, and refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager

import pytest
import redis
from fastapi.testclient import TestClient

from memshare.client.errors import TooManyRequests
from memshare.doors import server
from memshare.doors.pages.visit import PAGES
from memshare.doors.server import rest_app
from memshare.operations.backend import Backend
from memshare.operations.caller_limits import RequestLimit
from memshare.operations.serving import served
from memshare_broker.settings import Settings
from tests.support.full_redis import full_disk, full_memory
from tests.unit.memshare.doors.conftest import Tokened

FORMS: dict[str, dict[str, object]] = {
    "recall": {"pool": "logic", "prompt": "red lamp"},
    "pairs": {"agent": "logic", "prompt": "x", "answer": "y"},
    "feedback": {"reward": 1.0},
    "tasks": {"agent": "logic", "prompt": "x"},
}


@contextmanager
def no_writes(client: redis.Redis) -> Iterator[str]:
    """As on a full disk."""
    client.config_set("min-replicas-to-write", 1)
    yield "NOREPLICAS"
    client.config_set("min-replicas-to-write", 0)


@contextmanager
def no_reads(client: redis.Redis) -> Iterator[str]:
    """As on a full disk for who looks first whether his connection still works."""
    client.acl_setuser("default", enabled=True, commands=["-hget"])
    yield "'hget' command"
    client.acl_setuser("default", enabled=True, commands=["+hget"])


@pytest.mark.parametrize("refusing", [no_writes, no_reads])
@pytest.mark.parametrize("path", FORMS)
def test_what_redis_refuses_is_a_503_that_says_so(
    path: str, refusing: object, tokened: Tokened, shelf: dict[str, str], redis_client: redis.Redis
) -> None:
    assert shelf
    ada = tokened("ada", "recall", "offer", "submit")
    recall_id = ada.post("/v1/recall", json=FORMS["recall"]).json()["recall_id"]
    form = FORMS[path] | ({"recall_id": recall_id} if path in ("pairs", "feedback") else {})

    with refusing(redis_client) as why:  # type: ignore[operator]
        refused = ada.post(f"/v1/{path}", json=form)

    assert refused.status_code == 503, refused.text
    assert refused.headers["content-type"] == "application/problem+json"
    assert why in refused.json()["detail"]
    assert "Redis at unix:" in refused.json()["detail"]


@pytest.mark.parametrize("full_of", [full_memory, full_disk])
def test_what_only_reads_is_answered_while_redis_is_full(
    full_of: Callable[[redis.Redis], AbstractContextManager[None]],
    shelf: dict[str, str],
    redis_client: redis.Redis,
    tokened: Tokened,
) -> None:
    calls = [one.path for one in served() if one.verb == "GET" and not one.silence] + [*PAGES.shown]
    asked = [path.replace("{memory_id}", shelf["logic"]).replace("{id}", shelf["logic"]) for path in calls]

    def statuses(client: TestClient) -> dict[str, int]:
        return {path: client.get(path).status_code for path in asked}

    ada = tokened("ada", "admin", pools=None)
    ada.cookies.set("memshare_note", "of the last form")
    with full_of(redis_client):
        full = statuses(ada)
        refused = ada.post("/v1/tasks", json=FORMS["tasks"])

    assert full == statuses(ada)
    assert sum(status == 200 for status in full.values()) > len(asked) // 2, full
    assert refused.status_code == 503
    assert "Make room for it" in refused.text
    assert "@user_script" not in refused.text


def test_who_asks_too_often_is_refused_also_while_redis_is_full(backend: Backend, redis_client: redis.Redis) -> None:
    limit = RequestLimit(backend.redis, 1)
    redis_client.config_set("maxmemory", 1)
    try:
        limit.take("ada")
        limit.take("ada")
        redis_client.config_set("maxmemory", 0)
        limit.take("ada")
        redis_client.config_set("maxmemory", 1)
        with pytest.raises(TooManyRequests):
            limit.take("ada")
    finally:
        redis_client.config_set("maxmemory", 0)


def test_health_says_that_redis_takes_no_writes_and_alive_does_not_care(
    backend: Backend, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "KNOWN_FOR", 0.0)
    anybody = TestClient(rest_app(backend), client=("192.0.2.7", 50_000))
    assert (anybody.get("/health").status_code, anybody.get("/health").text) == (200, "ok")

    redis_client.config_set("maxmemory", 1)
    try:
        full = anybody.get("/health")
        assert anybody.get("/alive").status_code == 200
    finally:
        redis_client.config_set("maxmemory", 0)

    assert full.status_code == 503
    assert full.text.startswith("Degraded: what is there can be read, but Redis takes no writes")
    assert "maxmemory" in full.text
    assert anybody.get("/health").status_code == 200


def test_health_says_that_redis_is_away_and_not_where_it_is() -> None:
    with closing(Backend(Settings(redis_url="redis://:hunter2@127.0.0.1:1/0"))) as away:
        said = TestClient(rest_app(away), client=("192.0.2.7", 50_000)).get("/health")

    assert (said.status_code, said.text) == (503, "Down: Redis does not answer.")


def test_health_says_that_the_memory_service_is_away_and_alive_does_not_care(settings: Settings) -> None:
    alone = settings.model_copy(update={"memory_url": "http://127.0.0.1:1"})
    with closing(Backend(alone)) as backend:
        anybody = TestClient(rest_app(backend), client=("192.0.2.7", 50_000))
        said, alive = anybody.get("/health"), anybody.get("/alive")

    assert (said.status_code, said.text) == (
        503,
        "Degraded: the memory service does not answer, so nothing is recalled.",
    )
    assert alive.status_code == 200
