from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler

import pytest

from memshare_agents.reasoning.sources.fetch import Fetcher
from memshare_broker.errors import GiveUp, TryAgain
from tests.support.page_server import PageServer

MOST = 100_000


def test_a_body_that_is_longer_than_it_says_is_cut_off(web: PageServer, fetcher: Fetcher) -> None:
    sent = 0

    def endless(handler: BaseHTTPRequestHandler) -> None:
        nonlocal sent
        handler.send_response(200)
        handler.send_header("Content-Type", "text/plain")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        while not web.ending.is_set():
            handler.wfile.write(b"2000\r\n" + b"x" * 0x2000 + b"\r\n")
            sent += 0x2000

    web.replies["/endless"] = endless

    with pytest.raises(GiveUp, match=r"more than 100,000 bytes") as caught:
        fetcher.fetch(f"{web.url}/endless")

    assert caught.value.reason == "too long"
    assert sent < 50_000_000


def test_a_body_that_says_it_is_too_long_is_not_read(web: PageServer, fetcher: Fetcher) -> None:
    with pytest.raises(GiveUp, match="more than 100,000 bytes"):
        fetcher.fetch(web.page("/long", b"short", content_length=str(MOST + 1)))


def test_a_body_of_just_the_limit_is_read(web: PageServer, fetcher: Fetcher) -> None:
    plain = web.page("/plain", b"x" * MOST)
    packed = web.page("/packed", gzip.compress(b"x" * MOST), content_encoding="gzip")

    assert len(fetcher.fetch(plain).data) == len(fetcher.fetch(packed).data) == MOST


def test_a_gzip_bomb_is_not_unpacked(web: PageServer, fetcher: Fetcher) -> None:
    bomb = gzip.compress(b"\0" * 50_000_000)
    assert len(bomb) < MOST

    url = web.page("/bomb", bomb, content_encoding="gzip")

    tracemalloc.start()
    with pytest.raises(GiveUp, match="more than 100,000 bytes"):
        fetcher.fetch(url)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert most < 10_000_000


@pytest.mark.parametrize(
    ("headers", "body", "error"),
    [
        ({"content_type": "image/png"}, b"x", GiveUp),
        ({"content_type": "application/octet-stream"}, b"x", GiveUp),
        ({"content_type": ""}, b"<p>x</p>", GiveUp),
        ({"content_encoding": "br"}, b"x", GiveUp),
        ({"content_encoding": "gzip, gzip"}, b"x", GiveUp),
        ({"content_encoding": "gzip"}, b"not packed", GiveUp),
        ({"content_encoding": "gzip"}, gzip.compress(b"x" * 1000, mtime=0)[:-10], TryAgain),
        ({"content_length": "1000"}, b"x", TryAgain),
    ],
)
def test_a_body_that_cannot_be_read_says_why(
    web: PageServer, fetcher: Fetcher, headers: dict[str, str], body: bytes, error: type[Exception]
) -> None:
    with pytest.raises(error):
        fetcher.fetch(web.page("/odd", body, **headers))


def test_a_pdf_of_no_stated_type_is_known_by_its_first_bytes(
    web: PageServer, fetcher: Fetcher, make_pdf: Callable[..., bytes]
) -> None:
    url = web.page("/file", make_pdf("x"), content_type="application/octet-stream")

    assert fetcher.fetch(url).kind == "pdf"
