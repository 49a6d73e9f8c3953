"""A real server over a small app, asked with raw sockets: what is too large, too slow or too much is given up."""

from __future__ import annotations

import logging
import resource
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import anyio
import pytest
import uvicorn
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from memshare_memory.door.bounded_connection import (
    LARGEST_HEAD,
    MOST_PIPELINED,
    Bounds,
    most_connections,
    server_config,
)
from tests.support.deployment import patient, wait_for
from tests.support.raw_http import Address, address_of, answer_of, asking, read_all
from tests.support.served import running

WITHIN = 0.5  # seconds: the time for a request


class App:
    """Answers with the length of the body; /slow takes a second, /unread reads nothing, and /large says a lot.

    `begun` is how many requests began, and `gone` how many went away while they were read.
    """

    def __init__(self) -> None:
        self.begun = self.gone = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        self.begun += 1
        if request.url.path == "/slow":
            await anyio.sleep(WITHIN * 2)
        try:
            body = b"" if request.url.path == "/unread" else await request.body()
        except ClientDisconnect:
            self.gone += 1
            return
        large = "x" * LARGE if request.url.path == "/large" else ""
        await PlainTextResponse(f"read {len(body)}{large}")(scope, receive, send)


@pytest.fixture
def app() -> App:
    return App()


@contextmanager
def serving(app: App, connections: int = 100, within: float = WITHIN) -> Iterator[Address]:
    bounds = Bounds(lambda status, detail: Response(detail, status), within, connections)
    with running(uvicorn.Server(server_config(app, bounds, lifespan="off"))) as url:
        yield address_of(url)


@pytest.fixture
def server(app: App) -> Iterator[Address]:
    with serving(app) as address:
        yield address


LARGE = 20_000_000  # bytes; more than sockets hold
START = b"GET / HTTP/1.1\r\nHost: x\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
MUCH = b"x" * (LARGEST_HEAD + 1)


@pytest.mark.parametrize(
    "request_",
    [
        START + b"X: " + MUCH + b"\r\n\r\n",
        START + b"X: " + MUCH,
        START + b"X: y\r\n" * (LARGEST_HEAD // 4),
        b"GET /" + MUCH + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\r\n" * LARGEST_HEAD,
    ],
    ids=["one", "one without end", "many", "target", "empty lines"],
)
def test_headers_that_are_too_large_are_refused(server: Address, request_: bytes) -> None:
    with asking(server, request_) as connection:
        assert answer_of(connection).status == 431


@pytest.mark.parametrize(
    "request_",
    [
        START + b"X: " + MUCH * 20,
        START + b"X: y\r\n" * LARGEST_HEAD * 4,
        CHUNKED + b"1\r\nx\r\n0\r\nX: " + MUCH * 20,
        CHUNKED + b"1\r\nx\r\n0\r\n" + b"X: y\r\n" * LARGEST_HEAD * 4,
        CHUNKED + b"1;" + MUCH * 20,
    ],
    ids=["header", "headers", "trailer", "trailers", "chunk extension"],
)
def test_what_has_no_end_is_given_up_before_its_time_is_over(app: App, request_: bytes) -> None:
    with serving(app, within=60) as server, asking(server, request_) as connection:
        assert read_all(connection)[:12] in (b"", b"HTTP/1.1 431")  # what nobody reads takes the answer away


def test_headers_of_the_largest_size_and_a_body_behind_them_are_taken(server: Address) -> None:
    rest = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\nX: \r\n\r\n"
    filling = b"y" * (LARGEST_HEAD - len(rest))

    with asking(server, rest.replace(b"X: ", b"X: " + filling) + b"b" * 100_000) as connection:
        assert answer_of(connection).body == b"read 100000"


def test_a_body_in_a_great_many_chunks_is_taken(server: Address) -> None:
    with asking(server, CHUNKED + b"1\r\nx\r\n" * LARGEST_HEAD + b"0\r\n\r\n") as connection:
        assert answer_of(connection).body == b"read %d" % LARGEST_HEAD


@pytest.mark.parametrize(("begun", "drop"), [(START, b"X"), (b"POST / HTTP/1.1\r\nContent-Length: 999\r\n\r\n", b"b")])
def test_a_request_that_comes_a_byte_at_a_time_is_given_up(
    server: Address, app: App, begun: bytes, drop: bytes
) -> None:
    began = time.monotonic()
    with asking(server, begun) as connection:
        connection.settimeout(0.05)
        answer = b""
        while not answer and time.monotonic() - began < patient(10):
            connection.sendall(drop)
            try:
                answer = connection.recv(65_536)
            except TimeoutError:
                continue

    assert answer.startswith(b"HTTP/1.1 408 ")
    assert time.monotonic() - began < patient(5)
    wait_for(lambda: app.gone == (drop == b"b"), 5, "the app to be told that nobody is there")


def test_a_connection_on_which_nobody_asks_is_closed_without_a_word(server: Address) -> None:
    with asking(server, b"") as connection:
        assert read_all(connection) == b""


def test_neither_a_slow_answer_nor_a_pause_between_requests_is_cut_off(server: Address) -> None:
    with asking(server, START.replace(b"/ ", b"/slow ") + b"\r\n") as connection:
        assert answer_of(connection).status == 200
        time.sleep(WITHIN * 2)
        connection.sendall(START + b"\r\n")
        assert answer_of(connection).status == 200


def test_a_second_request_that_does_not_end_is_given_up_too(server: Address) -> None:
    with asking(server, START + b"\r\n") as connection:
        assert answer_of(connection).status == 200
        connection.sendall(START)
        assert answer_of(connection).status == 408


def test_a_body_that_nobody_wants_is_left_unread_and_the_next_request_is_served(server: Address) -> None:
    with asking(server, b"POST /unread HTTP/1.1\r\nContent-Length: 200000\r\n\r\n") as connection:
        assert answer_of(connection).body == b"read 0"
        connection.sendall(b"b" * 200_000 + START + b"\r\n")
        assert answer_of(connection).body == b"read 0"


def test_a_body_that_nobody_wants_does_not_keep_a_connection(server: Address) -> None:
    with asking(server, b"POST /unread HTTP/1.1\r\nContent-Length: 200000\r\n\r\n") as connection:
        assert answer_of(connection).status == 200
        began = time.monotonic()
        read_all(connection)
        assert time.monotonic() - began < patient(5)


@pytest.mark.parametrize(
    "garbage", [b"\x16\x03\x01\x02\x00\x01", b"GET\r\n\r\n", b"SSH-2.0-x\r\n", CHUNKED + b"zz\r\n"]
)
def test_what_is_no_http_is_refused_without_a_line_in_the_log(
    server: Address, garbage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING), asking(server, garbage) as connection:
        assert answer_of(connection).status == 400

    assert not caplog.records


def test_half_a_request_leaves_no_line_in_the_log(server: Address, app: App, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        for begun in (START, CHUNKED + b"5\r\nab"):
            asking(server, begun).__enter__().close()
        wait_for(lambda: app.gone == 1, 5, "the app to be told")

    assert not caplog.records


def test_some_requests_may_be_sent_at_once_and_no_more(server: Address) -> None:
    one, slow = START + b"\r\n", START.replace(b"/ ", b"/slow ") + b"\r\n"
    last = START + b"Connection: close\r\n\r\n"

    with asking(server, slow + one * (MOST_PIPELINED - 1) + last) as connection:
        assert read_all(connection).count(b"HTTP/1.1 200 ") == MOST_PIPELINED + 1
    with asking(server, slow + one * (MOST_PIPELINED + 1)) as connection:
        assert read_all(connection) == b""


def test_an_answer_that_nobody_reads_is_broken_off(server: Address) -> None:
    with asking(server, START.replace(b"/ ", b"/large ") + b"\r\n") as connection:
        time.sleep(WITHIN * 3)
        assert len(read_all(connection)) < LARGE


SLOW = START.replace(b"/ ", b"/slow ") + b"\r\n"


def test_the_connection_that_has_waited_longest_gives_way_to_a_new_one(
    app: App, caplog: pytest.LogCaptureFixture
) -> None:
    request = START + b"\r\n"
    with (
        caplog.at_level(logging.WARNING),
        serving(app, 3) as address,
        asking(address, SLOW) as answered,
        asking(address, request) as first,
        asking(address, request) as second,
        ExitStack() as newcomers,
    ):
        assert [answer_of(first).status, answer_of(second).status] == [200, 200]
        for _ in range(5):
            newcomer = newcomers.enter_context(asking(address, request))
            assert answer_of(newcomer).status == 200
            second.sendall(request)
            assert answer_of(second).status == 200
        assert first.recv(1) == b""
        assert answer_of(answered).status == 200

    assert len(caplog.records) == 1


def test_a_request_whose_body_does_not_come_gives_way_too(app: App) -> None:
    unfinished = CHUNKED + b"5\r\nab"
    with serving(app, 2, within=60) as address, asking(address, unfinished) as first, asking(address, unfinished):
        wait_for(lambda: app.begun == 2, 5, "both to be read")
        with asking(address, START + b"\r\n") as newcomer:
            assert answer_of(newcomer).status == 200
        assert read_all(first) == b""


def test_a_connection_whose_body_came_after_its_answer_gives_way(app: App) -> None:
    unread = b"POST /unread HTTP/1.1\r\nContent-Length: 5\r\n\r\n"
    with serving(app, 1) as address, asking(address, unread) as first:
        assert answer_of(first).status == 200
        first.sendall(b"b" * 5)
        time.sleep(0.1)
        with asking(address, START + b"\r\n") as newcomer:
            assert answer_of(newcomer).status == 200


def test_a_connection_is_refused_where_all_are_being_answered(app: App) -> None:
    with serving(app, 2) as address:
        with asking(address, SLOW) as first, asking(address, SLOW) as second:
            time.sleep(0.1)
            with asking(address, START + b"\r\n") as third:
                assert read_all(third)[:12] in (b"", b"HTTP/1.1 503")
            assert [answer_of(first).status, answer_of(second).status] == [200, 200]
        with asking(address, START + b"\r\n") as again:
            assert answer_of(again).status == 200


def test_half_of_the_files_of_a_process_are_left_to_itself() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
    try:
        assert most_connections() == 100
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
