"""Opens the sources that the settings name."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from pathlib import Path

from memshare_agents.reasoning.sources.browser import Browser
from memshare_agents.reasoning.sources.documents import Documents
from memshare_agents.reasoning.sources.fetch import Fetcher
from memshare_agents.reasoning.sources.indexing import index
from memshare_agents.reasoning.sources.library import Library
from memshare_agents.reasoning.sources.passages import pool_of
from memshare_agents.reasoning.sources.searxng import SearXNG
from memshare_agents.reasoning.sources.web_search import WebSearch
from memshare_broker.connection import connect
from memshare_broker.settings import Settings
from memshare_broker.settings.forms import parse_networks
from memshare_broker.steady_thread import steady_thread
from memshare_memory.door.client import MemoryClient

PATIENCE = 120  # seconds that a worker waits for the memory service, which may start at the same time


@dataclass(frozen=True)
class Sources:
    """What an agent may read beside the pool; `library` and `web` are None where nothing is configured."""

    library: Library | None
    browser: Browser
    web: WebSearch | None


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
