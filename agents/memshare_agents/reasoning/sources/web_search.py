"""The door to a search engine of the web."""

from __future__ import annotations

from typing import Protocol

from memshare_broker.wire.messages import Message


class SearchLink(Message):
    """A page that a search found; the snippet is what the engine shows of it."""

    url: str
    title: str
    snippet: str


class WebSearch(Protocol):
    """Something that finds web pages. Safe to use from many threads."""

    def search(self, query: str, k: int) -> list[SearchLink]:
        """The best k links, best first.

        Raises `TryAgain` for what may work later and `GiveUp` for what never will.
        """
        ...
