"""Web search by SearXNG, a search engine of search engines that one can run oneself."""

from __future__ import annotations

import logging

import httpx2
from pydantic import BaseModel, Field, ValidationError

from memshare_agents.reasoning.sources.extract_text import one_line
from memshare_broker.errors import GiveUp, Reason, TryAgain
from memshare_broker.wire.messages import Message
from memshare_llm.providers.http_client import ReplyTooLong, open_client, retry_after

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
