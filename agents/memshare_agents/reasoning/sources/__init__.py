"""What the reasoning agent reads beside the pool: documents, web pages and web search."""

from memshare_agents.reasoning.sources.browser import Browser
from memshare_agents.reasoning.sources.build import Sources, open_sources
from memshare_agents.reasoning.sources.cutting import pieces
from memshare_agents.reasoning.sources.library import Library, Passage
from memshare_agents.reasoning.sources.page import SourcePage
from memshare_agents.reasoning.sources.web_search import SearchLink, WebSearch

__all__ = [
    "Browser",
    "Library",
    "Passage",
    "SearchLink",
    "SourcePage",
    "Sources",
    "WebSearch",
    "open_sources",
    "pieces",
]
