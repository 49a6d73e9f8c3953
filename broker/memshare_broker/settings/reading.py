"""Settings of agents and of what the reasoning agent reads."""

from __future__ import annotations

from pydantic import BaseModel, Field

from memshare_broker.settings.forms import Networks, Place, WebAddress

PROMPT_LIMIT = 20_000  # characters


class ReadingSettings(BaseModel):
    """A part of the settings: *Agents, and what they read*."""

    agents_dir: Place | None = Field(
        default=None, description="Folder of your own agents: NAME.toml and NAME.rubric.toml."
    )
    prompt_limit: int = Field(
        default=PROMPT_LIMIT, ge=1, description="Longest prompt, and longest answer of a memory, in characters."
    )
    withhold: float = Field(
        default=0.05,
        ge=0,
        le=1,
        description="Share of the tasks, 0 to 1, from which one memory is withheld at random, to [measure what "
        "memories do](retriever.md#is-it-worth-it); 0: never, and [no number of memories]"
        "(retriever.md#how-many-are-shown) is tried by chance.",
    )
    documents: str | None = Field(
        default=None,
        description="Folders and files, with colons between them, that the reasoning agent may read. Unset: none.",
    )
    searxng_url: WebAddress | None = Field(
        default=None, description="SearXNG to search the web with, as http://HOST:PORT. Unset: no web search."
    )
    browser_networks: Networks | None = Field(
        default=None,
        description="Networks, with commas between them, whose web pages are read although they are not public, such "
        "as 10.0.0.0/8. Unset: none.",
    )
    browser_seconds: float = Field(default=20, gt=0, le=60, description="Seconds that a web page or search may take.")
    browser_bytes: int = Field(
        default=10_000_000, ge=1_000, le=50_000_000, description="Longest web page or document that is read, in bytes."
    )
