from __future__ import annotations

import socket

import pytest

from memshare_agents.reasoning.sources.fetch import Fetcher
from memshare_broker.errors import BadInput, GiveUp
from tests.support.page_server import PageServer


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "127.1", "[::ffff:127.0.0.1]", "[::1]", "0"],
)
def test_loopback_is_refused_by_default_however_it_is_written(web: PageServer, host: str) -> None:
    web.page("/", b"secret")

    with pytest.raises(GiveUp, match="no public address"):
        Fetcher([], seconds=5, most=100_000).fetch(f"http://{host}:{web.server_port}/")

    assert web.asked == []


@pytest.mark.parametrize(
    "target",
    ["http://127.0.0.2/", "http://169.254.169.254/latest/", "http://10.0.0.1/", "http://[::1]/", "//127.0.0.2/"],
)
def test_a_redirect_to_an_address_that_is_not_public_is_refused(web: PageServer, fetcher: Fetcher, target: str) -> None:
    url = web.redirect("/go", target)

    with pytest.raises(GiveUp, match="no public address"):
        fetcher.fetch(url)

    assert [path for path, _ in web.asked] == ["/go"]


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1:70/"])
def test_a_redirect_to_something_else_than_a_web_page_is_refused(
    web: PageServer, fetcher: Fetcher, target: str
) -> None:
    with pytest.raises(BadInput):
        fetcher.fetch(web.redirect("/go", target))


def test_the_address_that_was_checked_is_the_one_that_is_asked(
    web: PageServer, fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.page("/", b"<p>x</p>")
    look_up, times = socket.getaddrinfo, []

    def changing(host: object, *args: object, **options: object) -> object:
        if host != "rebind.test":
            return look_up(host, *args, **options)  # type: ignore[call-overload]
        times.append(host)
        return look_up("127.0.0.1" if len(times) == 1 else "127.0.0.3", *args, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(socket, "getaddrinfo", changing)

    fetcher.fetch(f"http://rebind.test:{web.server_port}/")

    assert times == ["rebind.test"]
    assert web.asked == [("/", f"rebind.test:{web.server_port}")]


def test_a_host_is_refused_when_one_of_its_addresses_is(
    web: PageServer, fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_up = socket.getaddrinfo

    def both(host: object, *args: object, **options: object) -> list[object]:
        hosts = ("127.0.0.1", "10.9.9.9") if host == "two.test" else (host,)
        return [found for one in hosts for found in look_up(one, *args, **options)]  # type: ignore[call-overload]

    monkeypatch.setattr(socket, "getaddrinfo", both)

    with pytest.raises(GiveUp, match=r"10\.9\.9\.9"):
        fetcher.fetch(f"http://two.test:{web.server_port}/")
    assert web.asked == []


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://127.0.0.1@example.com/", "user's name"),
        ("http://user:pass@example.com/", "user's name"),
        ("http://example.com:25/", "Port 25"),
        ("http://example.com:22/", "Port 22"),
        ("file:///etc/passwd", "expected http"),
        ("javascript:alert(1)", "expected http"),
        ("http:///path", "expected http"),
        ("http://example.com:99999/", "Port 99999"),
        ("http://0177.0.0.1/", "is no URL"),
        ("http://example.com/" + "a" * 3000, "more than 2,000 characters"),
        ("http://example.com/\r\nX: y", "is no URL"),
    ],
)
def test_a_url_that_may_not_be_asked_for_is_bad_input(fetcher: Fetcher, url: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        fetcher.fetch(url)
