"""What every request goes through, by a real server: the token first, then the body, and headers on every answer."""

from __future__ import annotations

import json
import logging
import select
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from fastapi.testclient import TestClient

from memshare.doors.entrance import LARGEST_BODY, MOST_UNFINISHED
from memshare.operations.backend import Backend
from memshare_memory.door.bounded_connection import LARGEST_HEAD
from tests.support.raw_http import Address, address_of, answer_of, asking, read_all
from tests.support.served import served
from tests.unit.memshare.doors.described import DESCRIPTION, OPERATIONS

HALF = "\ud83d"


@pytest.fixture
def server(backend: Backend) -> Iterator[Address]:
    with served(backend) as url:
        yield address_of(url)


def begun(path: str, *headers: str, method: str = "POST") -> bytes:
    """A request whose body has not come yet."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json", *headers, "", ""]
    return "\r\n".join(lines).encode()


def test_who_has_no_token_is_told_before_a_body_is_read(server: Address, backend: Backend) -> None:
    backend.tokens.create("ada", ("recall",), None)

    for path in ("/v1/recall", "/v1/memories", "/v1/nothing", "/mcp"):
        for header in ("X: y", "Authorization: Bearer msh_eve_0", "Authorization: Basic msh_eve_0"):
            request = begun(path, header, "Content-Length: 500", "Expect: 100-continue")
            with asking(server, request) as connection:
                assert answer_of(connection).status == 401


def test_what_is_open_to_all_reads_no_body(server: Address) -> None:
    for path in ("/", "/health", "/docs", "/openapi.json", "/nothing"):
        with asking(server, begun(path, "Content-Length: 500")) as connection:
            assert answer_of(connection).status == (404 if path == "/nothing" else 405)


def test_a_body_that_is_too_large_is_read_no_further(server: Address) -> None:
    request = begun("/v1/recall", f"Content-Length: {LARGEST_BODY * 9}") + b" " * (LARGEST_BODY + 1)

    with asking(server, request) as connection:
        answer = answer_of(connection)
        assert answer.status == 413
        assert f"has {LARGEST_BODY * 9:,} bytes, and at most {LARGEST_BODY:,}".encode() in answer.body


def test_bodies_that_do_not_end_fill_only_what_one_caller_may_have(server: Address, backend: Backend) -> None:
    ada, bea = (f"Authorization: Bearer {backend.tokens.create(name, ('recall',), None)}" for name in ("ada", "bea"))
    part = b" " * (LARGEST_BODY - 1)
    unfinished = begun("/v1/recall", ada, f"Content-Length: {LARGEST_BODY}") + part

    with ExitStack() as held:
        connections = [
            held.enter_context(asking(server, unfinished)) for _ in range(MOST_UNFINISHED // LARGEST_BODY + 2)
        ]
        ready, _, _ = select.select(connections, [], [], 10)
        assert {answer_of(one).status for one in ready} == {429}
        with asking(server, begun("/v1/recall", bea, f"Content-Length: {LARGEST_BODY}") + part + b" ") as other:
            assert answer_of(other).status == 422
        for one in connections:
            one.close()

    with asking(server, unfinished + b" ") as again:
        assert answer_of(again).status == 422


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (begun("/"), 405),
        (begun("/health", method="GET"), 200),
        (begun("/docs", method="GET"), 200),
        (begun("/v1/nothing", method="GET"), 404),
        (begun("/v1/stats", "Via: x", method="GET"), 403),
        (begun("/mcp", "Via: x"), 403),
        (begun("/", f"X: {'x' * LARGEST_HEAD}"), 431),
        (b"GARBAGE\r\n\r\n", 400),
    ],
    ids=["405", "200", "page", "404", "403", "mcp", "431", "400"],
)
def test_every_answer_says_what_a_browser_may_do_with_it(server: Address, request_: bytes, status: int) -> None:
    with asking(server, request_) as connection:
        answer = answer_of(connection)

    headers = dict(answer.headers)
    policy = dict(part.split(maxsplit=1) for part in headers["content-security-policy"].split("; "))
    assert answer.status == status
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert {"script-src": "'self'", "style-src": "'self'", "connect-src": "'self'"}.items() <= policy.items()
    assert {"img-src": "'self' data:", "form-action": "'self'"}.items() <= policy.items()
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    if status in (400, 403, 404, 405, 431) and b"/mcp" not in request_:
        assert json.loads(answer.body)["status"] == status


def test_the_first_page_leads_to_all_that_there_is(here: TestClient) -> None:
    page = here.get("/").text

    for path in ("/docs", "/openapi.json", "/health"):
        assert f'href="{path}"' in page
        assert here.get(path).status_code == 200
    assert "/mcp" in page


def test_requests_that_break_off_leave_no_line_in_the_log(
    server: Address, backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    text = backend.tokens.create("ada", ("admin",), None)
    token = f"Authorization: Bearer {text}"
    with caplog.at_level(logging.WARNING):
        for path in ("/v1/recall", "/v1/pairs", "/mcp", "/health", "/v1/nothing"):
            for _ in range(3):
                with asking(server, begun(path, token, "Content-Length: 500") + b'{"agent": '):
                    pass
                with asking(server, begun(path, token)[:-2]):
                    pass
        with asking(server, begun("/v1/stats", token, "Connection: close", method="GET")) as connection:
            assert read_all(connection).startswith(b"HTTP/1.1 ")

    assert not [one for one in caplog.records if one.exc_info]


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"nothing", b"\xff\xfe\x00", '{"agent": "logic", "prompt": "é"}'.encode("latin-1"),
        '{"agent": "logic", "prompt": "x"}'.encode("utf-16"), b'{"agent": "logic", "prompt": "\xed\xa0\xbd"}',
        b"[" * 100_000, b'{"agent": "logic", "prompt": ' * 9_000, b'{"prompt": "\\ud83d"',
    ],
    ids=range(10),
)  # fmt: skip
def test_a_body_that_is_no_json_in_utf_8_is_refused(here: TestClient, body: bytes) -> None:
    for path in ("/v1/recall", "/v1/pairs", "/v1/memories/search"):
        response = here.post(path, content=body, headers={"Content-Type": "application/json"})

        assert response.status_code in (400, 422)
        assert response.json()["detail"]


def texts_of(
    schema: dict[str, Any], components: dict[str, Any], path: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    """Where the texts of a request are: the names that lead to each; `0` is the first of a list."""
    if "$ref" in schema:
        schema = components[schema["$ref"].rpartition("/")[2]]
    for one in schema.get("anyOf", []):
        yield from texts_of(one, components, path)
    if schema.get("type") == "string":
        yield path
    if schema.get("type") == "array":
        first = schema["items"] if "items" in schema else schema["prefixItems"][0]
        yield from texts_of(first, components, (*path, "0"))
    for name, inner in schema.get("properties", {}).items():
        yield from texts_of(inner, components, (*path, name))


def nested(path: tuple[str, ...], value: str) -> Any:
    if not path:
        return value
    inner = nested(path[1:], value)
    return [inner] if path[0] == "0" else {path[0]: inner}


WITHOUT_TEXT = {"/v1/journeys/{journey_id}/again", "/v1/retrievers/{pool}/rollback"}
"""Their bodies have numbers alone."""


def test_half_a_character_is_refused_in_every_field_by_its_name(here: TestClient) -> None:
    without_text = set()
    for method, path in OPERATIONS:
        operation = DESCRIPTION["paths"][path][method.lower()]
        if "requestBody" not in operation:
            continue
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        fields = sorted(set(texts_of(schema, DESCRIPTION["components"]["schemas"])))

        for field in fields:
            body = json.dumps(nested(field, f"a{HALF}"))
            response = here.request(method, path, content=body, headers={"Content-Type": "application/json"})

            assert response.status_code == 422, (method, path, field, response.text)
            assert f"body.{'.'.join(field)} " in response.json()["detail"]
        if not fields:
            without_text.add(path)
    assert without_text == WITHOUT_TEXT


def test_half_a_character_is_refused_in_what_fits_otherwise_and_a_whole_one_is_not(here: TestClient) -> None:
    pair = {"agent": "logic", "prompt": "x", "answer": "y"}
    turns = {"agent": "logic", "messages": [{"role": "user", "content": f"x{HALF}"}], "answer": "y"}

    assert here.post("/v1/pairs", content=json.dumps(pair | {"answer": HALF})).status_code == 422
    assert here.post("/v1/pairs", content=json.dumps(turns)).status_code == 422
    assert here.post("/v1/pairs", content=json.dumps(pair | {HALF: "x"})).status_code == 422
    for whole in ("\U0001f600", "\\ud83d"):
        assert here.post("/v1/pairs", json=pair | {"answer": whole}).status_code == 202
        fits = json.dumps(pair | {"answer": whole})
        assert here.post("/v1/pairs", content=fits, headers={"Content-Type": "application/json"}).status_code == 202


def test_a_field_that_is_missing_or_unknown_is_named_in_plain_words(here: TestClient) -> None:
    refused = here.post("/v1/tasks", json={"prompt": "x", "colour": "red"}).json()

    assert refused["fields"] == ["body.agent is missing", "body.colour is none of its fields"]


TWICE = ['{"%s": "first", "%s": "second"}', '{"messages": [{"%s": "first", "x": {}, "%s": "second"}]}']
"""Objects with two keys of one name, at the outside and within."""


@pytest.mark.parametrize("body", TWICE)
@pytest.mark.parametrize("name", ["answer", "ключ", "a\\u001b[2J"])
def test_two_keys_of_one_name_are_refused_by_every_call_that_takes_a_body(
    here: TestClient, body: str, name: str
) -> None:
    asked, key = 0, json.loads(f'"{name}"')
    for method, path in OPERATIONS:
        if "requestBody" not in DESCRIPTION["paths"][path][method.lower()]:
            continue
        sent = (body % (name, name)).encode()
        response = here.request(method, path, content=sent, headers={"Content-Type": "application/json"})

        assert response.status_code == 422, (method, path, response.text)
        assert f"the key {key!r} stands twice" in response.json()["detail"]
        asked += 1
    assert asked > 10


def test_two_keys_of_one_name_do_nothing_and_one_in_each_object_is_taken(here: TestClient, backend: Backend) -> None:
    twice = b'{"agent": "logic", "prompt": "q", "answer": "first", "answer": "second"}'
    once = b'{"agent": "logic", "messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}, '
    once += b'{"role": "user", "content": "{\\"answer\\": 1, \\"answer\\": 2}"}], "answer": "a"}'
    headers = {"Content-Type": "application/json"}

    assert here.post("/v1/pairs", content=twice, headers=headers).status_code == 422
    assert backend.client.ledger.open_messages() == {}
    assert here.post("/v1/pairs", content=once, headers=headers).status_code == 202


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_json_has_not_is_refused_by_its_name(here: TestClient, number: str) -> None:
    body = f'{{"recall_id": "00000000-0000-0000-0000-000000000000", "reward": {number}}}'

    response = here.post("/v1/feedback", content=body, headers={"Content-Type": "application/json"})

    assert response.status_code == 422
    assert number in response.json()["detail"]


def test_a_method_that_a_path_has_not_is_told_all_that_it_has(here: TestClient) -> None:
    methods: dict[str, set[str]] = {}
    for method, path in OPERATIONS:
        methods.setdefault(path, set()).add(method)

    for path, has in methods.items():
        response = here.put(path.replace("{", "").replace("}", ""))

        assert response.status_code == 405
        may_be_an_id = path.startswith("/v1/memories/") and path.count("/") == 3  # also "search" and "import"
        also = methods["/v1/memories/{memory_id}"] if may_be_an_id else set()
        assert set(response.headers["allow"].split(", ")) == has | also
    assert methods["/v1/memories/{memory_id}"] == {"GET", "PATCH", "DELETE"}
