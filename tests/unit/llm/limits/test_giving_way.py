"""A call that nobody waits for ends where somebody does, on a server that does few calls at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from memshare_broker.errors import NotYet, TryAgain
from memshare_broker.wire.messages import Turn
from memshare_llm.chat import Chat
from memshare_llm.limits.concurrency import ConcurrencyLimited, Lane, ServerLimit
from memshare_llm.models import open_chat, server_of
from memshare_llm.providers.endpoint import OWN
from tests.support.chat_script import Answer
from tests.support.chat_server import ChatServer, serving
from tests.support.deployment import patient, wait_for

MODEL = "openai:small"
SLOW = (Turn(role="user", content="Name all concepts. Slowly."),)
QUICK = (Turn(role="user", content="A riddle."),)


def script(body: dict[str, Any]) -> Answer:
    return Answer(delay=20 if "Slowly" in body["messages"][-1]["content"] else 2.5)


@pytest.fixture
def chat_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    with serving(script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


def chat(client: redis.Redis, lane: Lane, server: str | None = None, timeout: float = 30) -> Chat:
    limit = ServerLimit(client, server or server_of(MODEL), MODEL, lane, timeout=timeout)
    client.hset("memshare:misfits", f"{MODEL}\x1f{lane}\x1ftext", "0 0 1")
    return ConcurrencyLimited(open_chat(MODEL, timeout=timeout, connections=2), limit)


def begin(model: Chat) -> tuple[threading.Thread, list[Exception]]:
    """Begin a slow call in a thread; what it raised is in the list."""
    raised: list[Exception] = []

    def call() -> None:
        try:
            model.reply(SLOW)
        except (NotYet, TryAgain) as error:
            raised.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    return thread, raised


@pytest.mark.parametrize("limit", [1, 4])
def test_what_nobody_waits_for_gives_way_to_an_answer_and_its_try_does_not_count(
    limit: int, chat_server: ChatServer, redis_client: redis.Redis
) -> None:
    redis_client.hset(f"memshare:server:{server_of(MODEL)}", "limit", limit)
    thread, raised = begin(chat(redis_client, "concepts"))
    wait_for(lambda: chat_server.requests, 10, "the slow call to be under way")

    began = time.monotonic()
    assert chat(redis_client, "answers").reply(QUICK).text
    took = time.monotonic() - began
    thread.join(10)

    assert took < patient(5)
    (error,) = raised
    assert isinstance(error, NotYet)
    assert "gave way" in str(error)
    assert redis_client.zcard(f"memshare:server:{server_of(MODEL)}:calls") == 0


@pytest.mark.parametrize(("lane", "limit", "server"), [("grades", 4, None), ("labels", 16, None), ("labels", 4, "own")])
def test_grades_large_servers_and_providers_who_are_paid_end_what_they_began(
    lane: Lane, limit: int, server: str | None, chat_server: ChatServer, redis_client: redis.Redis
) -> None:
    address = OWN["openai"] if server else server_of(MODEL)
    redis_client.hset(f"memshare:server:{address}", "limit", limit)
    thread, raised = begin(chat(redis_client, lane, address, timeout=4))
    wait_for(lambda: chat_server.requests, 10, "the slow call to be under way")

    chat(redis_client, "answers", address).reply(QUICK)
    thread.join(10)

    (error,) = raised
    assert isinstance(error, TryAgain)
    assert error.reason == "time-out"


def test_what_was_held_back_for_long_gives_way_to_nobody(chat_server: ChatServer, redis_client: redis.Redis) -> None:
    address = server_of(MODEL)
    redis_client.hset(f"memshare:server:{address}", mapping={"limit": 4, "held": time.time() - 700})
    answers = ServerLimit(redis_client, address, MODEL, "answers", timeout=30)
    assert answers.enter("held", "text")

    thread, raised = begin(chat(redis_client, "concepts", timeout=4))
    thread.join(10)

    (error,) = raised
    assert isinstance(error, TryAgain)
    assert len(chat_server.requests) == 1
