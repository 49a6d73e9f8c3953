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
import redis
from redis import exceptions

from memshare_broker.connection import connect, is_outage, reaching, unreachable, wait_for_redis
from memshare_broker.errors import Unreachable
from memshare_broker.redis_server import server_binary
from memshare_broker.settings import Settings
from tests.support.deployment import patient, wait_for
from tests.support.full_redis import full_disk


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
    assert time.monotonic() - began < patient(10)
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


def test_who_waits_for_redis_is_told_at_once_where_waiting_does_not_help(port: int) -> None:
    with pytest.raises(Unreachable, match="refuses the password"):
        wait_for_redis(f"redis://:wrong@127.0.0.1:{port}/0")
    with pytest.raises(Unreachable, match="does not speak TLS"):
        wait_for_redis(f"rediss://:right@127.0.0.1:{port}/0")

    wait_for_redis(f"redis://:right@127.0.0.1:{port}/0")


@pytest.mark.parametrize(
    ("error", "is_one"),
    [
        (exceptions.BusyLoadingError("Redis is loading the dataset in memory"), True),
        (exceptions.ResponseError("MISCONF Errors writing to the AOF file: No space left on device"), True),
        (exceptions.ReadOnlyError("You can't write against a read only replica."), True),
        (exceptions.ResponseError("WRONGTYPE Operation against a key holding the wrong kind of value"), False),
        (exceptions.DataError("Invalid input of type: 'NoneType'"), False),
        (ValueError("a bug"), False),
    ],
)
def test_an_outage_is_told_from_a_bug(error: Exception, is_one: bool) -> None:
    assert is_outage(error) is is_one


def test_who_reads_of_a_full_disk_reads_what_to_do() -> None:
    url = "redis://:right@10.0.0.7/0"

    said = str(unreachable(url, exceptions.ResponseError("MISCONF Errors writing to the AOF file: No space left")))

    assert "redis://10.0.0.7:6379/0" in said
    assert "No space left" in said
    assert "Make room" in said
    assert "right" not in said


def test_a_connection_that_was_quiet_for_a_minute_still_reads_from_a_full_redis(
    settings: Settings, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(connect(settings.redis)) as client:
        client.get("x")
        now = time.monotonic()
        with full_disk(redis_client), monkeypatch.context() as later:
            later.setattr(time, "monotonic", lambda: now + 60)
            assert client.get("x") is None


def test_a_redis_that_is_not_there_is_called_that(tmp_path: Path) -> None:
    assert "Start `memshare up`" in refusal(f"unix://{tmp_path}/redis.sock?db=0", tries=1)


def test_more_threads_than_a_hundred_may_wait_on_one_client(settings: Settings) -> None:
    with connect(settings.redis) as client, ExitStack() as listening:
        for number in range(150):
            news = listening.enter_context(closing(client.pubsub()))
            news.subscribe(f"news-{number}")

        assert client.ping()
