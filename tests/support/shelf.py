"""Documents on a shelf: sources of the reasoning agent that live in memory, and plans for its scripted model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from memshare_agents.reasoning.sources.build import SearchLink, Sources
from memshare_agents.reasoning.sources.documents import Passage
from memshare_agents.reasoning.sources.extract_text import SourcePage
from memshare_broker.errors import BadInput
from memshare_broker.wire.messages import derived_id


class Shelf:
    """A library, a browser and a web search in one: a document is found when it has a word of the query."""

    def __init__(self, documents: Mapping[str, str], links: Sequence[SearchLink] = ()) -> None:
        self.documents = documents
        self.links = links
        self.opened: list[str] = []

    def require_indexed(self) -> Mapping[str, object]:
        return self.documents

    def search(self, text: str, k: int = 5, documents: Sequence[str] = ()) -> list[Any]:
        words = text.casefold().split()
        return [
            Passage(text=told[:200], source=name, title=name, similarity=0.5, memory_id=document_id(name))
            for name, told in self.documents.items()
            if any(word in told.casefold() for word in words) and (not documents or name in documents)
        ][:k]

    def read(self, source: str) -> SourcePage:
        self.opened.append(source)
        if source not in self.documents:
            raise BadInput(f"There is no document {source!r}.")
        return SourcePage(source=source, title=source, text=self.documents[source])


class Links:
    """A search engine that always gives the same links."""

    def __init__(self, *links: SearchLink) -> None:
        self._links = links

    def search(self, _query: str, k: int) -> list[SearchLink]:
        return list(self._links[:k])


def document_id(name: str) -> UUID:
    return derived_id("document", name)


def sources(documents: Mapping[str, str] | None = None, web: Links | None = None) -> Sources:
    """Sources over documents by name; without any there is no library."""
    shelf = Shelf(documents or {})
    return Sources(library=shelf if documents else None, browser=shelf, web=web)  # type: ignore[arg-type]


def planned(*steps: Mapping[str, Any]) -> dict[str, Any]:
    return {"thought": "So be it.", "steps": list(steps)}


def search(query: str, *places: str, **filters: Any) -> dict[str, Any]:
    if not filters:
        return {"operator": "searcher", "query": query, "places": list(places or ("memory", "documents"))}
    sort = filters.pop("sort", None)
    words = [{"field": "words", "value": one} for one in filters.pop("words", ())]
    others = [{"field": field, "value": str(value)} for field, value in filters.items()]
    return {"operator": "filter", "query": query, "conditions": [*words, *others], "sort": sort}


def browse(source: str, looking_for: str = "the answer") -> dict[str, Any]:
    return {"operator": "browser", "source": source, "looking_for": looking_for}


def coordinate(goal: str = "Go on.") -> dict[str, Any]:
    return {"operator": "coordinator", "goal": goal}


RESPOND = {"operator": "responder", "hint": ""}
CHECK = {"operator": "discriminator"}


def told(answer: str, quote: str = "") -> dict[str, Any]:
    """What the browser's model says."""
    return {"found": bool(answer), "answer": answer, "quote": quote}


def answered(answer: str, *used: str) -> dict[str, Any]:
    """What the responder's model says."""
    return {"answer": answer, "used": list(used)}


def judged(verified: bool, reason: str = "So it is.", **shares: float) -> dict[str, Any]:
    """What the discriminator's model says."""
    return {
        "reason": reason,
        "verified": verified,
        "shares": [{"item": item, "share": share} for item, share in shares.items()],
    }
