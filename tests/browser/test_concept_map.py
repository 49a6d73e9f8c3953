"""The map of a pool in a real browser, with the network cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from memshare_concepts.concept_graph import ConceptGraph
from memshare_concepts.decisions import Aliases
from memshare_concepts.extraction import Levels
from memshare_concepts.flashcards import flashcards
from memshare_concepts.map.page import Colours, clusters_around, map_page
from memshare_concepts.pool_graph import PoolConcepts, levels_of
from memshare_memory.memory import Memory

HOSTILE = "</script><script>document.title = 'taken'</script><img src=x onerror=\"document.title = 'taken'\">"


def write_map(file: Path, pool: str, pairs: Sequence[tuple[str, str, Levels]]) -> Path:
    memories = {
        UUID(int=number): Memory(
            id=UUID(int=number), pool=pool, prompt=prompt, answer=answer, score=number % 100, created=1.7e9,
            concepts={str(level): tuple(names) for level, names in levels.items()},
        )
        for number, (prompt, answer, levels) in enumerate(pairs)
    }  # fmt: skip
    graph = ConceptGraph({one: levels_of(memory) for one, memory in memories.items()})
    vectors = np.random.default_rng(0).normal(size=(len(memories), 64)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)  # of no meaning: concepts decide what is near
    concepts = PoolConcepts(pool, graph, memories, 0, Aliases(), vectors)
    colours = Colours({one: 1 + one.int / 1000 for one in memories}, {UUID(int=0): 0.5, UUID(int=1): 0.75}, HOSTILE)
    page = map_page(concepts, clusters_around(concepts, file.parent, 10), 10, colours, datetime(2026, 5, 1, tzinfo=UTC))
    file.write_text("".join(page))
    return file


@pytest.fixture(scope="module")
def map_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pairs = [(card.prompt, card.answer, card.concepts.levels()) for card in flashcards()]
    return write_map(tmp_path_factory.mktemp("map") / "map.html", "flashcards", pairs)


@pytest.fixture
def told() -> list[str]:
    """What went wrong on the page, and what it asked for."""
    return []


@pytest.fixture
def open_map(browser: Browser, told: list[str]) -> Callable[[Path], Page]:
    def opened(file: Path) -> Page:
        page = browser.new_context(offline=True, viewport={"width": 1280, "height": 800}).new_page()
        page.on("console", lambda message: told.append(message.text))
        page.on("pageerror", lambda error: told.append(str(error)))
        page.on("request", lambda request: told.append(request.url[:40]))
        page.goto(file.as_uri())
        return page

    return opened


@pytest.fixture
def shown(open_map: Callable[[Path], Page], map_file: Path) -> Page:
    return open_map(map_file)


def test_it_opens_without_a_network_and_draws_every_memory(shown: Page, told: list[str]) -> None:
    assert "542 memories in" in shown.locator("#about").inner_text()
    colours = shown.evaluate(
        """() => { const canvas = document.getElementById("map");
                   const all = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
                   const seen = new Set();
                   for (let at = 0; at < all.length; at += 4) {
                       if (all[at + 3] === 255) seen.add(all.slice(at, at + 3).join()); }
                   return seen.size; }"""
    )
    assert colours > 20
    assert len(told) == 1
    assert told[0].startswith("file://")


def test_no_text_is_read_as_markup(open_map: Callable[[Path], Page], tmp_path: Path, told: list[str]) -> None:
    levels = {-1: (HOSTILE[:60],), 0: ("<b>Lamp",)}
    pairs = [(f"{HOSTILE} {number}", HOSTILE, levels) for number in range(2)]

    page = open_map(write_map(tmp_path / "map.html", HOSTILE, pairs))
    page.fill("#search", "onerror")
    page.locator("#found button", has_text="</script>").last.click()

    assert page.title() == f"Map of pool {HOSTILE}"
    assert "<b>Lamp" in page.locator("#found").inner_text()
    assert (page.locator("img").count(), page.locator("script").count()) == (0, 2)
    assert len(told) == 1


def test_what_is_searched_is_listed_and_opened(shown: Page) -> None:
    shown.fill("#search", "transformer")
    expected = sum(
        "transformer" in f"{card.concepts.topic}\n{card.prompt}\n{card.answer}".lower() for card in flashcards()
    )
    assert shown.locator("#found p").first.inner_text().startswith(f"{expected} memories, ")

    shown.locator("#found button", has_text="What is the multi-head attention").first.click()

    assert shown.locator("#found h2").inner_text().startswith("What is the multi-head attention")
    assert "credibility 1." in shown.locator("#found").inner_text()
    shown.locator("#found button").last.click()
    assert "memories ·" in shown.locator("#found").inner_text()
    shown.fill("#search", "")
    assert shown.locator("#found h2").count() == 0


def test_pointing_at_a_cluster_says_what_it_is_and_a_click_lists_it(shown: Page) -> None:
    shown.evaluate("choose(deepest[0], true)")
    box = shown.locator("#map").bounding_box()
    assert box
    spot = shown.evaluate(
        """() => { const last = inside.get(deepest[0].number).toSorted((a, b) => b.y - a.y)[0];
                   return place({ x: last.x, y: last.y + 1 }); }"""
    )

    shown.mouse.move(box["x"] + spot[0], box["y"] + spot[1])
    assert shown.locator("#tip").is_visible()
    assert shown.evaluate("deepest[0].name") in shown.locator("#tip").inner_text()
    shown.evaluate("choose(null)")
    shown.mouse.click(box["x"] + spot[0], box["y"] + spot[1])

    assert shown.evaluate("deepest[0].name") in shown.locator("#found h2").inner_text()
    assert shown.locator("#found li button").count() >= shown.evaluate("deepest[0].count")


def test_colours_show_the_credibility_or_what_a_person_remembers(shown: Page) -> None:
    assert shown.locator("#shades").is_hidden()

    shown.select_option("#colour", "credibility")

    assert shown.locator("#shades").is_visible()
    assert shown.locator("#ends").inner_text().split() == ["1.00", "1.54"]
    assert shown.evaluate("memories[0].colour !== memories.at(-1).colour")
    shown.select_option("#colour", f"by what {HOSTILE} remembers")
    assert shown.locator("#ends").inner_text().split() == ["0.50", "0.75"]
    assert shown.evaluate("memories[0].colour !== memories[1].colour && memories[2].colour === memories[3].colour")


def test_the_size_of_the_clusters_is_chosen_on_the_page(shown: Page) -> None:
    before = shown.evaluate("[deepest.length, memories.map(one => [one.x, one.y])]")
    at = int(shown.input_value("#sizes"))

    shown.fill("#sizes", str(at + 1))

    assert shown.locator("#size").inner_text() == "20"
    after = shown.evaluate("[deepest.length, memories.map(one => [one.x, one.y])]")
    assert after[0] < before[0]
    assert after[1] == before[1]
    assert f"in {after[0]} clusters" in shown.locator("#about").inner_text()


def test_similarities_are_a_picture_with_the_pair_that_is_pointed_at(shown: Page, told: list[str]) -> None:
    shown.click("#show-similarities")

    assert "All 542 memories" in shown.locator("#legend").inner_text()
    assert shown.locator("#bars div").count() == 40
    pair = shown.evaluate("[order[0].prompt, order[99].prompt, similarityOf(byteOf(order[0], order[99])).toFixed(2)]")
    box = shown.locator("#matrix").bounding_box()
    assert box
    x, y = shown.evaluate("[frame.x + 99.5 * frame.zoom, frame.y + .5 * frame.zoom]")
    shown.mouse.move(box["x"] + x, box["y"] + y)
    hint = shown.locator("#tip").inner_text()
    assert f"Similarity {pair[2]}" in hint
    assert pair[0][:40] in hint
    assert pair[1][:40] in hint
    assert len(told) == 1
