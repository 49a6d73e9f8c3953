from __future__ import annotations

import pytest

from memshare.llm.providers.http_client import open_client
from tests.support.chat_script import Answer
from tests.support.chat_server import serving

BODY = {"model": "small", "messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def test_reading_the_body_gets_only_what_waiting_for_it_left_of_the_time() -> None:
    with serving(lambda _body: Answer(delay=0.3)) as server, open_client(timeout=30, connections=1) as client:
        response = client.post(f"{server.url}/chat/completions", json=BODY)

    assert response.status_code == 200
    assert 0 < response.request.extensions["timeout"]["read"] <= 29.7
