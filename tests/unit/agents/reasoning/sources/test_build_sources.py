from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from memshare_agents.reasoning.sources.build import open_sources
from memshare_agents.reasoning.sources.documents import Library
from memshare_broker.errors import BadInput, GiveUp, NotYet
from memshare_broker.settings import Settings, load_settings
from memshare_memory.door.client import MemoryClient
from tests.support.deployment import wait_for
from tests.support.page_server import PageServer


def is_indexed(library: Library) -> bool:
    with suppress(NotYet):
        return bool(library.require_indexed())
    return False


def test_without_settings_there_is_a_browser_of_public_pages_and_nothing_else(
    settings: Settings, memory: MemoryClient, web: PageServer
) -> None:
    sources = open_sources(settings, memory)

    assert (sources.library, sources.web) == (None, None)
    with pytest.raises(GiveUp, match="MEMSHARE_BROWSER_NETWORKS"):
        sources.browser.read(web.page("/", b"<p>x</p>"))
    assert web.asked == []


def test_what_the_settings_name_is_opened(
    settings: Settings, memory: MemoryClient, web: PageServer, tmp_path: Path
) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "a.txt").write_text("High at noon.")
    (tmp_path / "b.md").write_text("# Low\n\nLow at six.")
    named = settings.model_copy(
        update={
            "documents": os.pathsep.join([str(tmp_path / "one"), str(tmp_path / "b.md")]),
            "searxng_url": web.url,
            "browser_networks": "127.0.0.1/32",
        }
    )

    sources = open_sources(named, memory)

    library = sources.library
    assert library is not None
    wait_for(lambda: is_indexed(library), 30, "the documents to be indexed")
    assert library.sources == ["b.md", "one/a.txt"]
    assert sources.browser.read("one/a.txt").text == "High at noon."
    assert sources.browser.read(web.page("/", b"<p>x y</p>", content_type="text/plain")).text == "<p>x y</p>"
    assert sources.web is not None


def test_documents_that_are_not_there_are_bad_input(settings: Settings, memory: MemoryClient, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="MEMSHARE_DOCUMENTS"):
        open_sources(settings.model_copy(update={"documents": str(tmp_path / "none")}), memory)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BROWSER_NETWORKS", "10.0.0.1/8"),
        ("BROWSER_NETWORKS", "localhost"),
        ("SEARXNG_URL", "searx:8080"),
        ("SEARXNG_URL", "ftp://searx"),
        ("BROWSER_SECONDS", "0"),
        ("BROWSER_BYTES", "5"),
    ],
)
def test_a_setting_that_cannot_be_used_names_its_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"MEMSHARE_{name}", value)

    with pytest.raises(BadInput, match=f"MEMSHARE_{name}"):
        load_settings()
