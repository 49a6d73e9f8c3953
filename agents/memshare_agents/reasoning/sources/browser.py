"""The browser: reads a document or a web page."""

from __future__ import annotations

import re

from memshare_agents.reasoning.sources.documents import Documents
from memshare_agents.reasoning.sources.extract_text import page_of
from memshare_agents.reasoning.sources.fetch import Fetcher
from memshare_agents.reasoning.sources.page import SourcePage
from memshare_broker.errors import BadInput

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")


class Browser:
    """Reads the documents of the settings, and web pages by http and https. Safe to use from many threads."""

    def __init__(self, documents: Documents | None, fetcher: Fetcher) -> None:
        self._documents = documents
        self._fetcher = fetcher

    def read(self, source: str) -> SourcePage:
        """The page of a URL, or of a document by its path.

        Raises `BadInput` for what is neither, `TryAgain` for what may work later and `GiveUp` for what never will:
        missing pages, refused addresses, other kinds of files, exceeded limits.
        """
        source = source.strip()
        if _SCHEME.match(source):
            url, body = self._fetcher.fetch(source)
            return page_of(url, body.data, body.kind, body.charset)
        if self._documents is None:
            raise BadInput(f"{source[:200]!r} is no URL, and there are no documents: MEMSHARE_DOCUMENTS is not set.")
        return self._documents.page(source, self._documents.data(source))
