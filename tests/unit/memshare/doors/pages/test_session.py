from __future__ import annotations

import pytest
import redis
from fastapi.testclient import TestClient

from memshare.doors.app import rest_app
from memshare.doors.backend import Backend
from memshare.doors.pages.session import COOKIE, SESSION

ELSEWHERE = "http://memshare.example"
FORM = {"Origin": ELSEWHERE, "Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
def elsewhere(backend: Backend) -> TestClient:
    """Somebody's browser on another machine."""
    return TestClient(
        rest_app(backend), base_url=ELSEWHERE, client=("192.0.2.7", 50_000), follow_redirects=False, headers=FORM
    )


def test_a_token_becomes_a_session_that_ends_with_it(elsewhere: TestClient, backend: Backend) -> None:
    token = backend.tokens.create("ada", ("recall",), None)
    assert elsewhere.get("/now").headers["location"] == "/sign-in"

    answer = elsewhere.post("/sign-in", content=f"token={token}")
    assert answer.status_code == 303
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "SameSite=strict" in answer.headers["set-cookie"]
    assert elsewhere.get("/now").status_code == 200

    backend.tokens.revoke("ada")
    backend.tokens.create("ada", ("admin",), None)
    assert elsewhere.get("/now").headers["location"] == "/sign-in"


def test_redis_has_neither_the_token_nor_the_cookie(
    elsewhere: TestClient, backend: Backend, redis_client: redis.Redis
) -> None:
    token = backend.tokens.create("ada", ("recall",), None)
    elsewhere.post("/sign-in", content=f"token={token}")

    [key] = redis_client.scan_iter(f"{SESSION}*")
    kept = str(redis_client.get(key))
    assert token not in kept
    assert elsewhere.cookies[COOKIE] not in f"{key}{kept}"
    assert 0 < redis_client.ttl(key) <= 12 * 3_600


def test_a_session_that_was_ended_is_worth_nothing(elsewhere: TestClient, backend: Backend) -> None:
    token = backend.tokens.create("ada", ("recall",), None)
    elsewhere.post("/sign-in", content=f"token={token}")
    cookie = elsewhere.cookies[COOKIE]

    elsewhere.post("/sign-out")

    elsewhere.cookies.set(COOKIE, cookie)
    assert elsewhere.get("/now").headers["location"] == "/sign-in"


@pytest.mark.parametrize("origin", ["https://evil.example", "null", ""])
def test_a_token_that_a_page_of_another_site_sends_is_not_taken(
    elsewhere: TestClient, backend: Backend, origin: str
) -> None:
    token = backend.tokens.create("ada", ("recall",), None)

    answer = elsewhere.post("/sign-in", content=f"token={token}", headers={"Origin": origin})

    assert answer.status_code == 403
    assert COOKIE not in elsewhere.cookies
