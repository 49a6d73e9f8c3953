"""What fails for now is asked again, and done once all the same."""

from __future__ import annotations

import json
import socket
import threading

import pytest
import redis

from memshare import Memory, NotFound, TryAgain, Unreachable
from memshare.client.rest.call import Call, HttpResponse, NoResponse, wait_before
from memshare.client.rest.calls.memories import Memories
from memshare_broker.delivery.schema import MESSAGES
from tests.support.raw_server import raw_server
from tests.support.served import losing_answers

CALL, ONCE = Memory.pairs.call, Memories.edit.call


def test_a_pair_whose_answer_got_lost_is_handed_in_once(url: str, redis_client: redis.Redis) -> None:
    with losing_answers(url, 2) as server, Memory(f"http://127.0.0.1:{server.port}") as client:
        accepted = client.pairs("What is a pier?", "A walk on water.", agent="logic")

        assert len(server.asked) == 3
        [message] = map(json.loads, redis_client.hvals(MESSAGES))
        assert message["id"] == accepted.id


def test_a_change_whose_answer_got_lost_is_not_made_again(url: str, shelf: dict[str, str]) -> None:
    with Memory(url) as direct, losing_answers(url, 1) as server, Memory(f"http://127.0.0.1:{server.port}") as client:
        with pytest.raises(Unreachable):
            client.memories.forget(shelf["logic"])

        assert len(server.asked) == 1
        with pytest.raises(NotFound):
            direct.memories.get(shelf["logic"])


def test_a_busy_server_is_asked_again_when_it_says() -> None:
    problem = b'{"detail": "The queue is full."}'
    busy = b"HTTP/1.1 429 Too Many\r\nRetry-After: 1\r\nContent-Length: %d\r\n\r\n%s" % (len(problem), problem)
    well = b"HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n" + json.dumps({"id": "1", "journey": "/x"}).encode().ljust(
        40
    )

    def answer(connection: socket.socket, _: threading.Event) -> None:
        connection.sendall(busy if len(server.asked) == 1 else well)

    with raw_server(answer) as server, Memory(f"http://127.0.0.1:{server.port}") as client:
        assert client.pairs("x", "y", agent="logic").id == "1"

    keys = {json.loads(request.partition(b"\r\n\r\n")[2])["idempotency_key"] for request in server.asked}
    assert (len(server.asked), len(keys)) == (2, 1)


@pytest.mark.parametrize(
    ("call", "answer", "again"),
    [
        (CALL, HttpResponse(200, b""), False),
        (CALL, HttpResponse(404, b""), False),
        (CALL, HttpResponse(500, b""), False),
        (CALL, HttpResponse(503, b""), True),
        (CALL, HttpResponse(429, b"", wait=3_600), False),
        (CALL, NoResponse(OSError(), sent=True), True),
        (ONCE, NoResponse(OSError(), sent=True), False),
        (ONCE, NoResponse(OSError(), sent=False), True),
        (ONCE, HttpResponse(503, b""), False),
        (ONCE, HttpResponse(429, b"", wait=1.0), True),
    ],
)
def test_a_call_is_made_again_where_that_helps_and_does_no_harm(
    call: Call[object], answer: HttpResponse | NoResponse, again: bool
) -> None:
    assert (wait_before(call, answer, 1, 4) is not None) == again
    assert wait_before(call, answer, 4, 4) is None


def test_the_pauses_grow() -> None:
    pauses = [wait_before(CALL, HttpResponse(503, b""), tried, 9) or 0 for tried in (1, 3, 5)]

    assert pauses == sorted(pauses)
    assert pauses[0] <= 0.3
    assert wait_before(CALL, HttpResponse(503, b"", wait=2.0), 1, 9) == 2.0


def test_what_is_no_server_of_ours_is_named() -> None:
    with pytest.raises(Unreachable, match="memshare serve"), Memory("http://127.0.0.1:1", tries=1) as nobody:
        nobody.stats()

    def page(connection: socket.socket, _: threading.Event) -> None:
        connection.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\noops")

    with raw_server(page) as server, pytest.raises(Unreachable, match="502"):
        Memory(f"http://127.0.0.1:{server.port}", tries=1).stats()

    def other(connection: socket.socket, _: threading.Event) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\noops")

    with raw_server(other) as server, pytest.raises(Unreachable, match="of this version"):
        Memory(f"http://127.0.0.1:{server.port}", tries=1).stats()


def test_the_memory_service_that_is_away_is_told_as_such() -> None:
    problem = json.dumps({"detail": "The memory service does not answer."}).encode()

    def away(connection: socket.socket, _: threading.Event) -> None:
        connection.sendall(b"HTTP/1.1 503 Away\r\nContent-Length: %d\r\n\r\n%s" % (len(problem), problem))

    with raw_server(away) as server, Memory(f"http://127.0.0.1:{server.port}", tries=2) as client:
        with pytest.raises(TryAgain, match="does not answer"):
            client.stats()
        assert len(server.asked) == 2
