from __future__ import annotations

import socket
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from ipaddress import ip_network

import pytest

from memshare_agents.reasoning.sources.fetch import MAX_REDIRECTS, Fetcher
from memshare_broker.errors import GiveUp, TryAgain
from tests.support.deployment import patient
from tests.support.page_server import PageServer


@pytest.fixture
def hasty() -> Fetcher:
    return Fetcher([ip_network("127.0.0.1/32")], seconds=0.5, most=100_000)


def test_a_page_is_fetched_and_says_what_it_is(web: PageServer, fetcher: Fetcher) -> None:
    url = web.page("/a", b"<p>hello</p>", content_type="text/html; charset=utf-8")

    fetched = fetcher.fetch(f"{url}#part")

    assert fetched.url == url
    assert (fetched.data, fetched.kind, fetched.charset) == (b"<p>hello</p>", "html", "utf-8")


def test_five_redirects_are_followed_and_a_sixth_is_not(web: PageServer, fetcher: Fetcher) -> None:
    for number in range(MAX_REDIRECTS + 1):
        web.redirect(f"/{number}", str(number + 1))
    end = web.page(f"/{MAX_REDIRECTS + 1}", b"there")

    assert fetcher.fetch(f"{web.url}/1").url == end
    with pytest.raises(GiveUp, match="redirects more than 5 times"):
        fetcher.fetch(f"{web.url}/0")


@pytest.mark.parametrize(
    ("status", "error"),
    [(404, GiveUp), (403, GiveUp), (204, GiveUp), (500, TryAgain), (503, TryAgain), (429, TryAgain)],
)
def test_a_status_says_whether_it_may_work_later(
    web: PageServer, fetcher: Fetcher, status: int, error: type[Exception]
) -> None:
    with pytest.raises(error, match=f"answered {status}"):
        fetcher.fetch(web.page("/", b"", status, retry_after="7"))


def test_a_busy_server_says_when_to_come_back(web: PageServer, fetcher: Fetcher) -> None:
    with pytest.raises(TryAgain) as caught:
        fetcher.fetch(web.page("/", b"", 429, retry_after="7"))

    assert caught.value.wait == 7


def trickle(web: PageServer, start: bytes) -> Callable[[BaseHTTPRequestHandler], None]:
    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(start)
        while not web.ending.wait(0.05):
            handler.wfile.write(b"a")

    return reply


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nX-Long: ",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9999\r\n\r\n",
    ],
    ids=["no reply", "headers", "body"],
)
def test_a_server_that_trickles_is_left_when_the_time_is_over(web: PageServer, hasty: Fetcher, start: bytes) -> None:
    web.replies["/slow"] = trickle(web, start)
    began = time.monotonic()

    with pytest.raises(TryAgain, match=r"not read within 0\.5 s") as caught:
        hasty.fetch(f"{web.url}/slow")

    assert caught.value.reason == "time-out"
    assert time.monotonic() - began < patient(3)


def test_redirects_share_one_time_limit(web: PageServer, hasty: Fetcher) -> None:
    def slow_redirect(handler: BaseHTTPRequestHandler) -> None:
        web.ending.wait(0.3)
        handler.send_response(302)
        handler.send_header("Location", "/round")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    web.replies["/round"] = slow_redirect

    with pytest.raises(TryAgain, match="not read within"):
        hasty.fetch(f"{web.url}/round")

    assert len(web.asked) == 2


def test_a_server_that_is_not_there_may_be_there_later(fetcher: Fetcher) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    with pytest.raises(TryAgain, match="cannot be reached"):
        fetcher.fetch(f"http://127.0.0.1:{port}/")


def test_no_cookie_of_one_page_is_sent_with_the_next(web: PageServer, fetcher: Fetcher) -> None:
    seen: list[str | None] = []
    url = web.page("/", b"<p>x</p>", set_cookie="who=me")
    send = web.replies["/"]

    def reply(handler: BaseHTTPRequestHandler) -> None:
        seen.append(handler.headers["Cookie"])
        send(handler)

    web.replies["/"] = reply

    fetcher.fetch(url)
    fetcher.fetch(url)

    assert seen == [None, None]
