from __future__ import annotations

import json
import socket
import tracemalloc
from urllib.parse import parse_qs, urlsplit

import pytest

from memshare_agents.reasoning.sources.build import SearchLink, SearXNG
from memshare_broker.errors import GiveUp, TryAgain
from tests.support.page_server import PageServer


def answer(web: PageServer, body: object, status: int = 200) -> SearXNG:
    web.page("/sx/search", json.dumps(body).encode(), status, content_type="application/json", retry_after="9")
    return SearXNG(f"{web.url}/sx/", seconds=1)


def result(number: int, **fields: object) -> dict[str, object]:
    return {"url": f"https://example.com/{number}", "title": f"T{number}", "content": f"S{number}", **fields}


def test_the_best_links_come_first_and_no_more_than_asked_for(web: PageServer) -> None:
    search = answer(web, {"query": "q", "results": [result(1, engine="a", score=3.0), result(2), result(3)]})

    links = search.search("tides & ebb?", 2)

    assert links == [
        SearchLink(url="https://example.com/1", title="T1", snippet="S1"),
        SearchLink(url="https://example.com/2", title="T2", snippet="S2"),
    ]
    [(path, _)] = web.asked
    assert parse_qs(urlsplit(path).query) == {"q": ["tides & ebb?"], "format": ["json"]}


def test_what_is_no_web_page_or_comes_twice_is_passed_over(web: PageServer) -> None:
    odd = [result(1, url="magnet:?xt=1"), result(2, title=None, content=None), result(2), result(3, title="a\nb\t c")]

    links = answer(web, {"results": odd}).search("q", 10)

    assert [(link.url[-1], link.title, link.snippet) for link in links] == [
        ("2", "https://example.com/2", ""),
        ("3", "a b c", "S3"),
    ]


def test_a_search_may_find_nothing(web: PageServer) -> None:
    assert answer(web, {"results": [], "unresponsive_engines": [["a", "timeout"]]}).search("q", 3) == []


@pytest.mark.parametrize(
    ("body", "status", "error", "words"),
    [
        ({"results": "none"}, 200, GiveUp, "did not answer as SearXNG does"),
        ([], 200, GiveUp, "did not answer as SearXNG does"),
        ({}, 403, GiveUp, r"search\.formats"),
        ({}, 404, GiveUp, "answered 404"),
        ({}, 302, GiveUp, "answered 302"),
        ({}, 500, TryAgain, "answered 500"),
        ({}, 429, TryAgain, "answered 429"),
    ],
)
def test_an_answer_that_is_none_says_why(
    web: PageServer, body: object, status: int, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words) as caught:
        answer(web, body, status).search("q", 3)

    assert getattr(caught.value, "wait", 9) == 9


def test_a_million_wrong_results_are_not_listed(web: PageServer) -> None:
    web.page("/search", b'{"results":[' + b"{}," * 2_000_000 + b"{}]}", content_type="application/json")
    tracemalloc.start()
    try:
        with pytest.raises(GiveUp, match="did not answer as SearXNG does"):
            SearXNG(web.url, seconds=10).search("q", 3)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 100_000_000


def test_a_server_that_does_not_answer_may_do_so_later(web: PageServer) -> None:
    search = answer(web, {})
    web.replies["/sx/search"] = lambda _: web.ending.wait(20) and None
    with pytest.raises(TryAgain, match="in time"):
        search.search("q", 3)

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(TryAgain, match="cannot be reached"):
        SearXNG(f"http://127.0.0.1:{port}", seconds=1).search("q", 3)
