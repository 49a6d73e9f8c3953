from __future__ import annotations

import gzip
import time

import httpx2
import pytest

from memshare_llm.providers.http_client import MAX_REPLY_BYTES, ReplyTooLong, open_client
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.deployment import patient
from tests.support.model_faults import http
from tests.support.raw_server import raw_server, trickling

BODY = {"model": "small", "messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def test_reading_the_body_gets_only_what_waiting_for_it_left_of_the_time() -> None:
    with (
        serving(lambda _body: Answer(delay=0.6, trickle=0.8)) as server,
        open_client(timeout=1, connections=1) as client,
        pytest.raises(httpx2.ReadTimeout),
    ):
        client.post(f"{server.url}/chat/completions", json=BODY)


@pytest.mark.parametrize("at", ["headers", "body"])
def test_a_byte_now_and_then_does_not_prolong_a_call(at: str) -> None:
    head = b"HTTP/1.1 200 OK\r\nX: " + (b"x" * 500 if at == "headers" else b"\r\n\r\n" + b" " * 500)
    began = time.monotonic()

    with (
        raw_server(trickling(head, 0.1 if at == "headers" else 0.03)) as server,
        open_client(timeout=1, connections=1) as client,
        pytest.raises(httpx2.ReadTimeout),
    ):
        client.post(f"http://127.0.0.1:{server.port}/", json=BODY)

    assert 0.9 < time.monotonic() - began < patient(5)


def test_calls_one_after_the_other_have_the_whole_time_each() -> None:
    with serving(lambda _body: Answer(delay=0.4)) as server, open_client(timeout=1, connections=1) as client:
        for _ in range(3):
            assert client.post(f"{server.url}/chat/completions", json=BODY).status_code == 200


def test_a_packed_reply_is_unpacked_up_to_the_longest_and_no_further() -> None:
    for size in (MAX_REPLY_BYTES, MAX_REPLY_BYTES + 1):
        reply = http(gzip.compress(b" " * size), content_encoding="gzip")
        with (
            raw_server(lambda connection, _, reply=reply: connection.sendall(reply)) as server,
            open_client(timeout=10, connections=1) as client,
        ):
            if size > MAX_REPLY_BYTES:
                with pytest.raises(ReplyTooLong, match="longer than 8,000,000 bytes"):
                    client.post(f"http://127.0.0.1:{server.port}/", json=BODY)
            else:
                assert len(client.post(f"http://127.0.0.1:{server.port}/", json=BODY).content) == size
