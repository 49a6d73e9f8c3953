"""A path with a slash at its end answers as the one without, and by no redirect."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from starlette.routing import Route

from memshare.doors.server import rest_app
from memshare.operations.backend import Backend
from memshare_broker.settings import Settings
from tests.support.raw_http import address_of, answer_of, asking
from tests.support.served import served

NOBODY = "00000000-0000-0000-0000-000000000000"
ROUTES = [
    (method, re.sub(r"{[\w:]+}", NOBODY, route.path))
    for route in rest_app(Backend(Settings())).routes
    if isinstance(route, Route) and route.path != "/"
    for method in sorted(route.methods or {"GET", "POST", "DELETE"})
]
"""Every method and path of the app."""
VARIES = re.compile(rb"[0-9a-f]{16,}|[0-9a-f-]{36}|[0-9]+(\.[0-9]+)?")
"""Ids, moments and seconds."""
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
BEHIND_A_PROXY = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "memory.example", "Host": "memory.example"}


@pytest.fixture
def asking_all(backend: Backend) -> Iterator[TestClient]:
    """Who may do everything, behind a proxy that speaks https."""
    app = rest_app(backend)
    app.state.is_ending = lambda: True  # streams end at once
    token = backend.tokens.create("ada", ("admin",), None)
    headers = {**BEHIND_A_PROXY, "Authorization": f"Bearer {token}", "Accept": "application/json"}  # no stream
    with TestClient(app, headers=headers, follow_redirects=False) as client:
        yield client


def test_every_kind_of_path_is_among_them() -> None:
    paths = {path for _, path in ROUTES}

    assert {"/mcp", "/v1/pools", f"/v1/memories/{NOBODY}", "/docs", "/openapi.json", "/health", "/inbox"} <= paths
    assert len(ROUTES) > 100


def test_every_path_with_a_slash_at_its_end_answers_as_the_one_without(asking_all: TestClient) -> None:
    statuses = set()
    for method, path in ROUTES:
        without, with_slash = (asking_all.request(method, f"{path}{end}") for end in ("", "/"))

        said = (method, path, with_slash.status_code, with_slash.text)
        statuses.add(with_slash.status_code)
        assert with_slash.status_code == without.status_code, said
        assert with_slash.status_code not in (301, 302, 307, 308), said
        assert "://" not in with_slash.headers.get("Location", ""), said
        for header in ("Location", "Content-Type", "Allow"):
            assert with_slash.headers.get(header) == without.headers.get(header), said
        assert VARIES.sub(b"", with_slash.content) == VARIES.sub(b"", without.content), said
    assert {200, 404, 422} <= statuses


def test_a_query_and_several_slashes_change_nothing(asking_all: TestClient, shelf: dict[str, str]) -> None:
    pool = asking_all.get("/v1/memories?pool=logic").json()

    assert [one["id"] for one in pool["memories"]] == [shelf["logic"]]
    assert asking_all.get("/v1/memories/?pool=logic").json() == pool
    assert asking_all.get("/v1/memories//?pool=logic").json() == pool
    assert asking_all.get(f"/v1/memories/{shelf['logic']}/").json()["memory"]["answer"] == "A light."
    assert asking_all.get("//").status_code == asking_all.get("/").status_code


@pytest.mark.parametrize("path", ["/v1/agents/logic%2F", "/v1/nothing/", "/nothing/", "/v1/", "/mcp/x/"])
def test_a_path_that_there_is_not_is_none_with_a_slash_either(asking_all: TestClient, path: str) -> None:
    answer = asking_all.get(path)

    assert answer.status_code == 404
    assert "Location" not in answer.headers


def test_mcp_with_a_slash_asks_for_the_token_and_answers(backend: Backend) -> None:
    body = json.dumps(LIST).encode()

    def asked(url: str, *headers: str) -> tuple[int, dict[str, str], bytes]:
        lines = ["POST /mcp/ HTTP/1.1", "Content-Type: application/json", f"Content-Length: {len(body)}",
                 "Accept: application/json, text/event-stream", "Connection: close", *headers, "", ""]  # fmt: skip
        with asking(address_of(url), "\r\n".join(lines).encode() + body) as connection:
            answer = answer_of(connection)
        return answer.status, dict(answer.headers), answer.body

    with served(backend) as url:
        status, _, said = asked(url, "Host: 127.0.0.1")
        assert (status, b"search_memories" in said) == (200, True)
        token = backend.tokens.create("ada", ("recall",), None)
        proxied = [f"{name}: {value}" for name, value in BEHIND_A_PROXY.items()]
        status, headers, said = asked(url, *proxied)
        assert (status, "location" in headers) == (401, False)
        assert json.loads(said)["error"]["message"]
        status, headers, said = asked(url, *proxied, f"Authorization: Bearer {token}")
        assert (status, "location" in headers, b"search_memories" in said) == (200, False, True)
