from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_network
from pathlib import Path

import pytest

from memshare_agents.reasoning.sources.build import Browser
from memshare_agents.reasoning.sources.documents import Documents
from memshare_agents.reasoning.sources.fetch import Fetcher
from memshare_broker.errors import BadInput, GiveUp
from tests.support.page_server import PageServer

FETCHER = Fetcher([ip_network("127.0.0.0/8")], seconds=5, most=100_000)


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    (tmp_path / "a.txt").write_text("High at noon.")
    return Browser(Documents([tmp_path], 100_000), FETCHER)


def test_a_web_page_is_read_by_the_url_at_which_it_is_in_the_end(browser: Browser, web: PageServer) -> None:
    end = web.page("/new", "<html><body><p>große Schiffe</p></body></html>".encode("latin-1"),
                   content_type="text/html; charset=latin-1")  # fmt: skip

    page = browser.read(f" {web.redirect('/old', '/new')} ")

    assert (page.source, page.text) == (end, "große Schiffe")


def test_a_pdf_is_read_from_the_web(browser: Browser, web: PageServer, make_pdf: Callable[..., bytes]) -> None:
    url = web.page("/tides.pdf", make_pdf("High at noon."), content_type="application/pdf")

    assert browser.read(url).text == "High at noon."


def test_a_document_is_read_by_its_path(browser: Browser) -> None:
    assert browser.read("a.txt").text == "High at noon."


@pytest.mark.parametrize("source", ["", "none.txt", "../a.txt", "file:///etc/passwd", "data:text/html,x", "C:\\a.txt"])
def test_what_is_neither_a_document_nor_a_url_is_bad_input(browser: Browser, source: str) -> None:
    with pytest.raises(BadInput):
        browser.read(source)


def test_without_documents_a_path_is_bad_input() -> None:
    with pytest.raises(BadInput, match="MEMSHARE_DOCUMENTS is not set"):
        Browser(None, FETCHER).read("a.txt")


def test_a_page_that_only_scripts_fill_is_given_up(browser: Browser, web: PageServer) -> None:
    with pytest.raises(GiveUp, match="no text"):
        browser.read(web.page("/app", b"<html><body><div id=app></div><script>run()</script></body></html>"))
