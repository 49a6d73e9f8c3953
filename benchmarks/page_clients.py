"""Plain clients that ask what open pages ask, without a browser's own work: the page, its stream, the page again."""

from __future__ import annotations

import html
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import httpx

STREAM = re.compile(r'data-stream="([^"]+)"')


class PageClient:
    """One open page: asked for again whenever its stream says that something has changed, if it shows that."""

    def __init__(self, url: str, path: str) -> None:
        self._path = path
        self._client = httpx.Client(base_url=url, timeout=60)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"page {path}")
        self.shown = 0
        """How often it was asked for."""

    def open(self) -> None:
        text = self._show()
        found = STREAM.search(text)
        assert found is not None, f"the page {self._path} has no stream"
        self._stream = html.unescape(found[1])
        self._is_live = 'id="live"' in text
        self._thread.start()

    def close(self) -> None:
        """It ends with the next line of its stream, or with the one that says that the page is still followed."""
        self._is_over.set()
        self._thread.join()
        self._client.close()

    def _follow(self) -> None:
        while not self._is_over.is_set():
            with self._client.stream("GET", self._stream) as events:
                for line in events.iter_lines():
                    if self._is_over.is_set():
                        return
                    if line == "event: changed" and self._is_live:
                        self._show()

    def _show(self) -> str:
        self.shown += 1
        return self._client.get(self._path).raise_for_status().text


@contextmanager
def pages_open(url: str, paths: Sequence[str]) -> Iterator[list[PageClient]]:
    """Pages that are open while the block runs."""
    clients = [PageClient(url, path) for path in paths]
    for one in clients:
        one.open()
    try:
        yield clients
    finally:
        for one in clients:
            one.close()
