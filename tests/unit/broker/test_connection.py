"""What is said of a Redis that cannot be used, and how soon."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from memshare.broker.connection import connect, reaching
from memshare.broker.errors import Unreachable
from memshare.broker.redis_server import server_binary
from memshare.broker.settings import Settings
from tests.support.deployment import wait_for


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a Redis with a password and without TLS."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    folder = tmp_path_factory.mktemp("redis")
    options = ["--port", str(port), "--requirepass", "right", "--save", "", "--dir", str(folder)]
    with subprocess.Popen([server_binary(), *options], stdout=subprocess.DEVNULL) as process:
        wait_for(lambda: _answers(port), 20, "Redis")
        yield port
        process.terminate()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def refusal(url: str, tries: int = 8) -> str:
    began = time.monotonic()
    with pytest.raises(Unreachable) as refused, reaching(url):
        connect(url, tries=tries).ping()
    assert time.monotonic() - began < 10
    return str(refused.value)


@pytest.mark.parametrize(
    ("login", "said"),
    [
        (":wrong@", "refuses the password"),
        ("nobody:right@", "refuses the password, or the user,"),
        ("", "asks for a password, and MEMSHARE_REDIS_URL has none"),
    ],
)
def test_a_wrong_password_is_called_that_at_once(port: int, login: str, said: str) -> None:
    refused = refusal(f"redis://{login}127.0.0.1:{port}/0")

    assert said in refused
    assert "right" not in refused
    assert "wrong" not in refused
    assert connect(f"redis://:right@127.0.0.1:{port}/0").ping()


def test_tls_to_a_plain_port_is_called_that_within_seconds(port: int) -> None:
    assert "does not speak TLS" in refusal(f"rediss://:right@127.0.0.1:{port}/0")


def test_tls_to_a_port_that_answers_something_else_is_called_that() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def answer() -> None:
            taken, _ = server.accept()
            with taken:
                taken.recv(64)
                taken.sendall(b"-ERR unknown command\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        assert "does not speak TLS" in refusal(f"rediss://127.0.0.1:{port}/0")
        thread.join()


def test_a_redis_that_is_not_there_is_called_that(tmp_path: Path) -> None:
    assert "Start `memshare up`" in refusal(f"unix://{tmp_path}/redis.sock?db=0", tries=1)


def test_more_threads_than_a_hundred_may_wait_on_one_client(settings: Settings) -> None:
    with connect(settings.redis) as client, ExitStack() as listening:
        for number in range(150):
            news = listening.enter_context(closing(client.pubsub()))
            news.subscribe(f"news-{number}")

        assert client.ping()
