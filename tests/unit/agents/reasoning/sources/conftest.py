"""A web server on loopback for what the browser reads, and PDFs made on the spot."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from ipaddress import ip_network

import pytest
from reportlab.pdfgen.canvas import Canvas

from memshare.agents.reasoning.sources.fetch import Fetcher
from tests.support.page_server import PageServer


@pytest.fixture
def web() -> Iterator[PageServer]:
    server = PageServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.ending.set()
    server.shutdown()
    server.server_close()
    thread.join(10)


@pytest.fixture
def fetcher() -> Fetcher:
    """One that may read from 127.0.0.1 alone."""
    return Fetcher([ip_network("127.0.0.1/32")], seconds=5, most=100_000)


@pytest.fixture
def make_pdf() -> Callable[..., bytes]:
    def make(*pages: str, title: str = "") -> bytes:
        """A PDF with these texts, a line for each line."""
        file = io.BytesIO()
        canvas = Canvas(file)
        if title:
            canvas.setTitle(title)
        for page in pages:
            for number, line in enumerate(page.splitlines()):
                canvas.drawString(50, 800 - 14 * number, line)
            canvas.showPage()
        canvas.save()
        return file.getvalue()

    return make
