"""Opens the sources that the settings name."""

from __future__ import annotations

import os
import re
import threading
from dataclasses import dataclass
from pathlib import Path

from memshare_agents.reasoning.sources.documents import Documents
from memshare_agents.reasoning.sources.extract_text import SourcePage, page_of
from memshare_agents.reasoning.sources.fetch import Fetcher
from memshare_agents.reasoning.sources.library import Library, index, pool_of
from memshare_agents.reasoning.sources.searxng import SearXNG
from memshare_broker.connection import connect
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from memshare_broker.settings.forms import parse_networks
from memshare_broker.steady_thread import steady_thread
from memshare_memory.door.client import MemoryClient

PATIENCE = 120  # seconds that a worker waits for the memory service, which may start at the same time

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


@dataclass(frozen=True)
class Sources:
    """What an agent may read beside the pool; `library` and `web` are None where nothing is configured."""

    library: Library | None
    browser: Browser
    web: SearXNG | None


def documents_of(settings: Settings) -> Documents:
    """The documents of the settings; raises `BadInput` for any that are not there."""
    named = (settings.documents or "").split(os.pathsep)
    places = [Path(place).expanduser().absolute() for place in named if place]
    return Documents(places, settings.browser_bytes)


def open_sources(settings: Settings, memory: MemoryClient) -> Sources:
    """The sources of the settings; documents that are new or have changed are indexed in a thread of its own.

    That is tried until it works. Raises `BadInput` for documents that are not there.
    """
    allowed = parse_networks(settings.browser_networks or "")
    fetcher = Fetcher(allowed, settings.browser_seconds, settings.browser_bytes)
    web = SearXNG(settings.searxng_url, settings.browser_seconds) if settings.searxng_url else None
    documents = documents_of(settings)
    if not documents.places:
        return Sources(None, Browser(None, fetcher), web)
    name = pool_of(documents.places)
    library, client, done = Library(memory, name), connect(settings.redis), threading.Event()

    def make_index() -> None:
        memory.wait_until_ready(PATIENCE)
        library.open(index(memory, name, documents, client))
        done.set()

    steady_thread("Indexing the documents", make_index, done)
    return Sources(library, Browser(documents, fetcher), web)
