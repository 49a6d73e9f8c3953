"""What the REST door says while Redis answers, and refuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import redis

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
