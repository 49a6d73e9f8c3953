"""Opens the sources that the settings name."""

from __future__ import annotations

import logging
import os
import re
import threading
from dataclasses import dataclass
from pathlib import Path

import httpx2
from pydantic import BaseModel, Field, ValidationError

from memshare_agents.reasoning.sources.documents import Documents, Library, index, pool_of
from memshare_agents.reasoning.sources.extract_text import SourcePage, one_line, page_of
from memshare_agents.reasoning.sources.fetch import Fetcher
from memshare_broker.connection import connect
from memshare_broker.errors import BadInput, GiveUp, Reason, TryAgain
from memshare_broker.settings import Settings
from memshare_broker.settings_file import parse_networks
from memshare_broker.steady_thread import steady_thread
from memshare_broker.wire.messages import Message
from memshare_llm.providers.http_client import ReplyTooLong, open_client, retry_after
from memshare_memory.door.client import MemoryClient

log = logging.getLogger(__name__)

MAX_QUERY = 500
MAX_SNIPPET = 500

_CONNECTIONS = 8


class SearchLink(Message):
    """A page that a search found; the snippet is what the engine shows of it."""

    url: str
    title: str
    snippet: str


class _Result(BaseModel):
    url: str
    title: str | None = None
    content: str | None = None


class _Results(BaseModel):
    results: list[_Result] = Field(fail_fast=True)
    unresponsive_engines: list[object] = []


class SearXNG:
    """The JSON interface of a SearXNG server; its settings must list `json` under `search.formats`.

    Safe to use from many threads.
    """

    def __init__(self, url: str, seconds: float) -> None:
        """`seconds` is the time limit of one search."""
        self._url = httpx2.URL(url.rstrip("/") + "/search")
        self._client = open_client(timeout=seconds, connections=_CONNECTIONS)

    def search(self, query: str, k: int) -> list[SearchLink]:
        """The best k links, best first; raises `TryAgain` for what may work later and `GiveUp` for what never will."""
        try:
            response = self._client.get(self._url, params={"q": query[:MAX_QUERY], "format": "json"})
        except httpx2.TimeoutException as error:
            raise TryAgain("The web search did not answer in time.", reason="time-out") from error
        except ReplyTooLong as error:
            raise GiveUp(f"The web search: {error}.", "too long") from error
        except httpx2.TransportError as error:
            raise TryAgain(f"The web search cannot be reached: {error}.", reason="connection") from error
        _require_well(response)
        try:
            found = _Results.model_validate_json(response.content)
        except ValidationError as error:
            raise GiveUp(
                "The web search did not answer as SearXNG does. Check MEMSHARE_SEARXNG_URL.", "malformed"
            ) from error
        if found.unresponsive_engines and not found.results:
            log.warning("The web search found nothing, and %d engines failed.", len(found.unresponsive_engines))
        first_of_each: dict[str, SearchLink] = {}
        for one in found.results:
            if one.url.startswith(("http://", "https://")):
                title, snippet = one_line(one.title or one.url), (one.content or "")[:MAX_SNIPPET]
                first_of_each.setdefault(one.url, SearchLink(url=one.url, title=title, snippet=snippet))
        return list(first_of_each.values())[:k]


def _require_well(response: httpx2.Response) -> None:
    status = response.status_code
    if status == 200:
        return
    if status == 429 or status >= 500:
        reason: Reason = "rate limit" if status == 429 else "server error"
        raise TryAgain(f"The web search answered {status}.", retry_after(response.headers), reason)
    if status == 403:
        raise GiveUp("The web search answered 403: let SearXNG's settings list `json` under `search.formats`.")
    raise GiveUp(f"The web search answered {status}. Check MEMSHARE_SEARXNG_URL.")


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
            return page_of(*self._fetcher.fetch(source))
        if self._documents is None:
            raise BadInput(f"{source[:200]!r} is no URL, and there are no documents: MEMSHARE_DOCUMENTS is not set.")
        return self._documents.page(source, self._documents.data(source))


@dataclass(frozen=True)
class Sources:
    """The sources that an agent may read beside the pool; `library` and `web` are None where nothing is configured."""

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
