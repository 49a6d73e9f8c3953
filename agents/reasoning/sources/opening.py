"""Opens the sources that the settings name."""

from __future__ import annotations

from dataclasses import dataclass

from memshare.agents.reasoning.sources.browser import Browser
from memshare.agents.reasoning.sources.documents import Documents
from memshare.agents.reasoning.sources.fetch import Fetcher
from memshare.agents.reasoning.sources.indexing import index
from memshare.agents.reasoning.sources.library import Library
from memshare.agents.reasoning.sources.passages import pool_of
from memshare.agents.reasoning.sources.searxng import SearXNG
from memshare.agents.reasoning.sources.web_search import WebSearch
from memshare.broker.connection import connect
from memshare.broker.settings import Settings
from memshare.memory_service.door.client import MemoryClient

PATIENCE = 120  # seconds that a worker waits for the memory service, which may start at the same time


@dataclass(frozen=True)
class Sources:
    """What an agent may read beside the pool; `library` and `web` are None where nothing is configured."""

    library: Library | None
    browser: Browser
    web: WebSearch | None


def open_sources(settings: Settings, memory: MemoryClient) -> Sources:
    """The sources of the settings; documents that are new or have changed are indexed first, which takes a while.

    Raises `BadInput` for documents that are not there, `TryAgain` while another worker indexes them,
    or where the memory service is away.
    """
    fetcher = Fetcher(settings.browser_allowed, settings.browser_seconds, settings.browser_bytes)
    web = SearXNG(settings.searxng_url, settings.browser_seconds) if settings.searxng_url else None
    if not settings.document_places:
        return Sources(None, Browser(None, fetcher), web)
    documents = Documents(settings.document_places, settings.browser_bytes)
    name = pool_of(documents.places)
    memory.wait_until_ready(PATIENCE)
    found = index(memory, name, documents, connect(settings.redis))
    return Sources(Library(memory, name, found), Browser(documents, fetcher), web)
