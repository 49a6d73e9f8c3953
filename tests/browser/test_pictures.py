"""The pages that commands write, from real runs, as docs/pictures shows them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from memshare_concepts.flashcards import flashcard_memories
from tests.support.deployment import ROOT
from tests.support.terminal import Terminal

ITEMS = "12" if os.environ.get("PICTURES") else "5"  # of each kind of plan: a picture that is kept shows more
WITHIN = 600  # seconds


@pytest.fixture(scope="module")
def map_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The map of the bundled flashcards, as `memshare concepts map` writes it."""
    folder = tmp_path_factory.mktemp("map")
    terminal = Terminal(folder / "data")
    cards = folder / "cards.jsonl"
    with terminal.working():
        cards.write_text("".join(f"{one.model_dump_json()}\n" for one in flashcard_memories("flashcards")))
        terminal.run("memories", "import", str(cards), "--new-pool")
        terminal.run("concepts", "map", "--pool", "flashcards", "--out", str(folder / "map.html"))
    return folder / "map.html"


@pytest.fixture(scope="module")
def report_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of an experiment on the bundled plans, with a model that copies what it is shown."""
    folder = tmp_path_factory.mktemp("report")
    terminal = Terminal(folder / "unused")
    data, out = ROOT / "benchmarks" / "plans.jsonl", folder / "evaluation"
    words = ("--data", str(data), "--models", "openai:scripted", "--items", ITEMS, "--out", str(out), "--yes")
    terminal.run("evaluate", "memories", *words, within=WITHIN)
    terminal.run("report", str(out))
    return out / "report.html"


@pytest.mark.timeout(WITHIN)
def test_the_map_of_a_pool_has_the_clusters_that_the_page_on_concepts_lists(
    page: Page, map_file: Path, keep: Callable[[Page, str], None]
) -> None:
    page.goto(map_file.as_uri())

    expect(page.locator("#about")).to_contain_text("542 memories in 54 clusters")
    listed = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8")
    assert "\n3       103         Law " in listed
    expect(page.get_by_text("Law (103)")).to_be_visible()
    keep(page, "concepts-map")

    page.click("#show-similarities")
    expect(page.locator("#bars div")).to_have_count(40)
    keep(page, "concepts-similarities")


@pytest.mark.timeout(WITHIN)
def test_a_report_says_what_was_found_of_each_kind(
    page: Page, report_file: Path, keep: Callable[[Page, str], None]
) -> None:
    page.set_viewport_size({"width": 1085, "height": 1500})
    page.goto(report_file.as_uri())

    expect(page.locator(".chart img").first).to_be_visible()
    for kind in ("fitness", "study", "travel"):
        expect(page.get_by_text(kind).first).to_be_attached()
    page.get_by_role("heading", name="More memories in the prompt").evaluate("one => one.scrollIntoView()")
    keep(page, "report")
