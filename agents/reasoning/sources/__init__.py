"""What the reasoning agent reads beside the pool: documents, web pages and web search."""

from agents.reasoning.sources.browser import Browser
from agents.reasoning.sources.cutting import pieces
from agents.reasoning.sources.library import Library, Passage
from agents.reasoning.sources.opening import Sources, open_sources
from agents.reasoning.sources.page import Page
from agents.reasoning.sources.web_search import Link, WebSearch

__all__ = ["Browser", "Library", "Link", "Page", "Passage", "Sources", "WebSearch", "open_sources", "pieces"]
