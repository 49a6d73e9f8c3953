"""The door closed, slow, broken off, too small or asked for a token: who asks is told what to do."""

from __future__ import annotations

import json
import logging
import socket
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from socketserver import StreamRequestHandler, UnixStreamServer

import httpcore2
import pytest
import redis

from memshare.operate.data_folder import tell_models
from memshare_broker.errors import BadInput, TryAgain
from memshare_broker.settings import Settings
from memshare_memory.door.bounded_connection import LARGEST_HEAD
from memshare_memory.door.client import LARGEST_BODY, MemoryClient, listen, socket_of
from memshare_memory.door.messages import RecallRequest, Refusal
from memshare_memory.pool.pool import Pool
from tests.support.deployment import patient
from tests.support.doors import open_door
from tests.support.raw_http import answer_of, asking
from tests.support.raw_server import raw_server, trickling

WANTED = RecallRequest(pool="poem", text="lamp", k=3, new_pool=True)


@pytest.fixture
def own(settings: Settings, tmp_path: Path) -> Settings:
    return settings.model_copy(update={"data": tmp_path})


@contextmanager
def answering(own: Settings, reply: bytes) -> Iterator[None]:
    """Something else at the socket: it gives this reply to every connection, and closes it."""

    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            self.request.recv(65_536)
            self.wfile.write(reply)

    with UnixStreamServer(str(socket_of(own.data)), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield
        server.shutdown()
        thread.join(10)


def test_the_socket_is_its_owners_alone(own: Settings, memory: MemoryClient) -> None:
    memory.stats()

    assert stat.S_IMODE(socket_of(own.data).stat().st_mode) == 0o600


def test_a_service_that_is_away_is_asked_again_later(own: Settings) -> None:
    with closing(MemoryClient(own)) as client, pytest.raises(TryAgain, match=r"Start `memshare up`") as away:
        client.recall(WANTED)

    assert away.value.reason == "store"


def test_while_memshare_up_starts_nobody_is_told_to_start_it(own: Settings, tmp_path: Path) -> None:
    own = own.model_copy(update={"exports": tmp_path / "exports"})
    with tell_models(own), closing(MemoryClient(own)) as client, pytest.raises(TryAgain) as away:
        client.recall(WANTED)

    assert "Start `memshare up`" not in str(away.value)
    assert "exports the encoder" in str(away.value)


def test_a_service_that_memshare_up_starts_again_exports_nothing(own: Settings, tmp_path: Path) -> None:
    own = own.model_copy(update={"exports": tmp_path / "exports"})
    (tmp_path / "exports" / "words").mkdir(parents=True)
    with tell_models(own), closing(MemoryClient(own)) as client, pytest.raises(TryAgain) as away:
        client.recall(WANTED)

    assert str(away.value).endswith("`memshare up` is starting it, which takes some seconds.")


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"found":',
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\xff\xfe\x00\x01",
        b"HTTP/1.1 500 Oh\r\nContent-Length: 5\r\n\r\nsorry",
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x00" * 1_000,
    ],
)
def test_whatever_else_is_answered_is_a_reason_to_try_again(own: Settings, reply: bytes) -> None:
    with answering(own, reply), closing(MemoryClient(own)) as client, pytest.raises(TryAgain) as broken:
        client.recall(WANTED)

    assert broken.value.reason == "store"


def test_a_service_whose_redis_refuses_is_asked_again_later(
    own: Settings, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    assert memory.recall(WANTED).found == ()
    redis_client.acl_setuser("default", enabled=True, commands=["-get"])
    try:
        with closing(MemoryClient(own)) as client, pytest.raises(TryAgain, match="'get' command") as refused:
            client.recall(WANTED)
    finally:
        redis_client.acl_setuser("default", enabled=True, commands=["+get"])

    assert refused.value.reason == "store"


def test_a_restarted_service_is_asked_again_at_once(own: Settings, pool: Pool, redis_client: redis.Redis) -> None:
    with closing(MemoryClient(own)) as client:
        with open_door(own, pool, redis_client):
            client.recall(WANTED)
        with open_door(own, pool, redis_client):
            assert client.recall(WANTED).found == ()


def test_a_request_that_does_not_fit_names_the_field(own: Settings, memory: MemoryClient) -> None:
    memory.stats()
    body = json.dumps({"pool": "poem", "text": "lamp", "k": -1}).encode()

    status, said = post(own, "recall", body)
    assert (status, said["kind"]) == (422, "bad input")
    assert "k: Input should be greater than or equal to 0, not -1" in said["error"]
    assert post(own, "recall", b"{no json")[0] == 422
    assert post(own, "recall", json.dumps({"pool": "poem", "text": "x", "k": 1, "colour": "red"}).encode())[0] == 422


def test_a_body_that_is_too_large_is_read_no_further(own: Settings, memory: MemoryClient) -> None:
    memory.stats()

    status, said = post(own, "add", b"[" + b" " * LARGEST_BODY + b"]")

    assert status == 413
    assert "in parts" in said["error"]


@pytest.fixture
def on_network(own: Settings) -> Settings:
    """A memory service on a port of this machine."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    named = {"memory_listen": f"127.0.0.1:{port}", "memory_url": f"http://127.0.0.1:{port}", "memory_token": "secret"}
    return Settings.model_validate(own.model_dump() | named)


def test_on_a_network_every_request_brings_the_token(
    on_network: Settings, pool: Pool, redis_client: redis.Redis
) -> None:
    with open_door(on_network, pool, redis_client) as client:
        assert client.recall(WANTED).found == ()
        for wrong, told in ((None, "set MEMSHARE"), ("secre", "another one than"), ("secret2", "another one than")):
            stranger = Settings.model_validate(on_network.model_dump() | {"memory_token": wrong})
            with closing(MemoryClient(stranger)) as other, pytest.raises(TryAgain, match=told):
                other.recall(WANTED)


def begun(*headers: str) -> bytes:
    """A request whose body has not come yet."""
    return "\r\n".join(["POST /add HTTP/1.1", "Host: memory", *headers, "", ""]).encode()


def test_on_a_network_nobody_fills_the_memory_of_the_service(
    on_network: Settings, pool: Pool, redis_client: redis.Redis
) -> None:
    with open_door(on_network, pool, redis_client):
        address = ("127.0.0.1", int((on_network.memory_listen or "").rpartition(":")[2]))
        with asking(address, begun("Authorization: Bearer secre", "Content-Length: 999")) as stranger:
            assert answer_of(stranger).status == 401
        with asking(address, begun(f"X: {'x' * LARGEST_HEAD}")) as endless:
            refused = answer_of(endless)

    assert refused.status == 431
    assert Refusal.model_validate_json(refused.body).kind == "bad input"


def test_requests_that_break_off_leave_no_line_in_the_log(
    on_network: Settings, pool: Pool, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING), open_door(on_network, pool, redis_client) as client:
        address = ("127.0.0.1", int((on_network.memory_listen or "").rpartition(":")[2]))
        for _ in range(5):
            with asking(address, begun("Authorization: Bearer secret", "Content-Length: 999") + b"[{"):
                pass
        client.stats()

    assert not caplog.records


def test_a_door_to_the_network_needs_a_token(own: Settings) -> None:
    with pytest.raises(BadInput, match="MEMSHARE_MEMORY_TOKEN"):
        listen(own.model_copy(update={"memory_listen": "127.0.0.1:0"}))


def test_an_address_that_is_taken_is_named(own: Settings) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        at = f"127.0.0.1:{taken.getsockname()[1]}"
        named = Settings.model_validate(own.model_dump() | {"memory_listen": at, "memory_token": "secret"})
        with pytest.raises(BadInput, match=f"MEMSHARE_MEMORY_LISTEN='{at}' cannot be listened on"):
            listen(named)


def post(own: Settings, method: str, body: bytes) -> tuple[int, dict[str, str]]:
    """What the door says to a request that our client would not make."""
    with httpcore2.ConnectionPool(uds=str(socket_of(own.data))) as pool:
        reply = pool.request("POST", f"http://memory/{method}", content=body)
        return reply.status, json.loads(reply.content)


@pytest.mark.parametrize("reply", [b"HTTP/1.1 200 OK\r\nX: " + b"x" * 999, b"HTTP/1.1 200 OK\r\n\r\n" + b" " * 999])
def test_a_byte_now_and_then_holds_nobody_longer_than_silence_does(own: Settings, reply: bytes) -> None:
    with raw_server(trickling(reply, 0.05)) as server:
        there = Settings.model_validate(own.model_dump() | {"memory_url": f"http://127.0.0.1:{server.port}"})
        began = time.monotonic()
        with closing(MemoryClient(there)) as client, pytest.raises(TryAgain, match="did not answer within 1 s"):
            client.stats(timeout=1)

    assert 0.9 < time.monotonic() - began < patient(10)


@pytest.mark.parametrize(("wait", "kept"), [("1e999", None), ("-5", 0.0), ("7", 7.0)])
def test_a_refusal_that_asks_for_an_odd_wait_is_tried_again_all_the_same(
    own: Settings, wait: str, kept: float | None
) -> None:
    body = b'{"kind":"try again","error":"Not now.","wait":%s}' % wait.encode()
    reply = b"HTTP/1.1 503 Oh\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)

    with answering(own, reply), closing(MemoryClient(own)) as client, pytest.raises(TryAgain) as caught:
        client.recall(WANTED)

    assert caught.value.wait == kept
