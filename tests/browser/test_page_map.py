"""The map in a real browser: what a pool is about and lacks, names that are merged, and the picture of it."""

from __future__ import annotations

import re
import time
from typing import Literal

import pytest
from playwright.sync_api import Browser, expect

from memshare_broker.connection import connect
from memshare_concepts.decisions import Decisions
from memshare_concepts.flashcards import flashcard_memories
from memshare_concepts.quoting import Sentence
from memshare_concepts.summaries import ClusterSummary, Summaries
from memshare_memory.memory import Memory
from tests.browser.people import DESK, HOSTILE, MARKUP, PHONE, RIGHT, looking, require_harmless, require_readable
from tests.support.deployment import Deployment

CARDS = 60
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
ONE, OTHER = "Gradient Descent", "Gradient Descent Method"


@pytest.fixture(scope="module")
def cards(deployment: Deployment) -> list[Memory]:
    """Memories with concepts, two names that mean one, a summary, and texts that are more than text."""
    made = flashcard_memories("cards", CARDS)
    for place, name in ((0, ONE), (1, OTHER), (2, MARKUP)):
        concepts = {**made[place].concepts, "1": (name,)}
        made[place] = made[place].model_copy(update={"concepts": concepts, "answer": f"{made[place].answer} {HOSTILE}"})
    deployment.client.memories.restore(made)
    ids = tuple(one.id for one in made)
    said = ClusterSummary(
        sentences=(Sentence(text=f"All of them teach. {HOSTILE}", cites=ids[:1]),), read=ids, members=ids,
        model="scripted", made=time.time(),
    )  # fmt: skip
    with connect(deployment.settings.redis) as client:
        Summaries(client, "cards").keep(said)
    return made


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_what_a_pool_is_about_can_be_read_by_everybody(
    browser: Browser, cards: list[Memory], url: str, size: dict[str, int]
) -> None:
    with looking(browser, viewport=size) as watched:
        page = watched.see("/map?pool=cards", url)
        expect(page.get_by_text(f"What {len(cards)} memories are about")).to_be_visible()
        expect(page.locator(".tiles article").first).to_be_visible()
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            require_readable(page)
        require_harmless(page)


def test_names_are_merged_with_a_key_and_a_gap_is_dismissed_and_both_can_be_undone(
    browser: Browser, deployment: Deployment, cards: list[Memory], url: str
) -> None:
    assert cards
    with looking(browser) as watched, connect(deployment.settings.redis) as client:
        decisions = Decisions(client, "cards")
        page = watched.see("/map?pool=cards", url)
        names = page.locator(".item", has_text=OTHER)
        expect(names).to_have_count(1)
        names.focus()
        page.keyboard.press("a")
        expect(page.locator(".notice.good")).to_contain_text("They count as one concept now.")
        expect(names).to_have_count(0)
        assert {decisions.aliases().key(ONE)} == {decisions.aliases().key(OTHER)}
        page.get_by_role("button", name="Undo").click()
        expect(names).to_have_count(1)
        assert decisions.aliases().key(ONE) != decisions.aliases().key(OTHER)

        gap = page.locator("#gaps ~ table tbody tr").first
        reason = gap.locator(".text").inner_text()
        gap.get_by_role("button", name="No gap").click()
        expect(page.locator(".notice.good")).to_contain_text("It is no gap.")
        assert reason not in page.locator("main").inner_text()
        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".notice.good")).to_contain_text("It is back in the list.")
        expect(page.get_by_text(reason, exact=True)).to_have_count(1)


def test_the_picture_is_of_the_pool_as_it_is_now(browser: Browser, cards: list[Memory], url: str) -> None:
    with looking(browser) as watched:
        page = watched.see("/map?pool=cards", url)
        page.get_by_role("link", name="Look at the picture").click()
        expect(page.locator("#about")).to_contain_text(f"{len(cards)} memories in")
        page.get_by_role("button", name="Similarities").click()
        expect(page.locator("#matrix")).to_be_visible()
        page.get_by_placeholder("Search concepts").fill("script")
        expect(page.locator("#found")).to_contain_text(re.compile("memor", re.IGNORECASE))
        require_harmless(page)
        page.get_by_role("link", name="Back to memshare").click()
        expect(page).to_have_url(f"{url}/map?pool=cards")


def test_a_question_is_answered_with_memories_that_open(
    browser: Browser, deployment: Deployment, cards: list[Memory], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):  # the server has the model, too, as that of `memshare up` has
        monkeypatch.setenv(name, deployment.environment[name])
    with looking(browser, viewport=PHONE) as watched:
        page = watched.see("/map?pool=cards", url)
        page.get_by_label("Ask the pool").fill(cards[0].prompt or "")
        page.get_by_role("button", name="Ask").click()
        expect(page.locator(".answer")).to_contain_text(RIGHT, timeout=20_000)
        expect(page.get_by_text("It says so.")).to_be_visible()
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            require_readable(page)
        require_harmless(page)
        page.get_by_role("link", name="memory ").click()
        expect(page).to_have_url(re.compile("/memories/"))


def test_a_pool_that_there_is_not_has_no_map(browser: Browser, url: str) -> None:
    with looking(browser, expected=True) as watched:
        page = watched.see("/map?pool=nowhere", url)
        expect(
            page.get_by_text("Pool 'nowhere' has no memory yet: import some, or have tasks answered and graded.")
        ).to_be_visible()
