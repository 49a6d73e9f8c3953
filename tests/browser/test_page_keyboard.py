"""The page with the keyboard alone: what has the focus keeps it, and each thing can be reached and done."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Browser, Page, expect

from memshare_memory.curate.requests import NewMemory
from tests.browser.people import WRONG, add, looking
from tests.support.deployment import Deployment

MOST_TABS = 80


def tab_to(page: Page, name: str) -> None:
    """Press Tab until a link or a button that reads like this has the focus."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if name in focused(page):
            return
    raise AssertionError(f"{name!r} is not reached by Tab on {page.url}")


def focused(page: Page) -> str:
    """What the link or the button says that has the focus."""
    return str(page.evaluate("document.activeElement.matches('a, button') ? document.activeElement.textContent : ''"))


def test_who_has_no_mouse_finds_what_misled_an_answer_and_forgets_it(
    browser: Browser, deployment: Deployment, url: str
) -> None:
    new = NewMemory(pool="logic", prompt="What sinks at noon?", answer=WRONG, submitter="mallory", new_pool=True)
    [memory] = deployment.client.memories.add([new])
    task = deployment.client.submit("logic", "What sinks at noon?", kind="riddle").id
    assert deployment.settled(task).memories

    with looking(browser) as watched:
        page = watched.see("/", url)
        tab_to(page, "What sinks at noon?")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="What sinks at noon?")).to_be_visible()
        tab_to(page, "Forget it …")
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Forget it")).to_be_visible()
        tab_to(page, "Forget it")
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Undo")).to_be_visible()

    assert not deployment.client.memories.judge([memory])


def test_who_has_no_mouse_searches_and_opens_a_memory(browser: Browser, deployment: Deployment, url: str) -> None:
    [memory] = add(deployment, "otters hold hands")

    with looking(browser) as watched:
        page = watched.see("/pool", url)
        page.keyboard.press("/")
        expect(page.get_by_role("searchbox", name="Search")).to_be_focused()
        with page.expect_response(lambda one: parse_qs(urlsplit(one.url).query).get("q") == ["otters hold hands"]):
            page.keyboard.type("otters hold hands")
        expect(page.get_by_role("link", name="About otters hold hands")).to_be_visible()
        tab_to(page, "About otters hold hands")
        page.keyboard.press("Enter")
        expect(page).to_have_url(f"{url}/memories/{memory}")


def test_a_link_keeps_the_focus_while_its_list_changes(browser: Browser, deployment: Deployment, url: str) -> None:
    first = deployment.client.submit("logic", "What has the focus?", kind="riddle").id
    deployment.settled(first)

    with looking(browser) as watched:
        page = watched.see("/", url)
        tab_to(page, "What has the focus?")
        later = deployment.client.submit("logic", "What comes later?", kind="riddle").id
        deployment.settled(later)

        expect(page.get_by_role("link", name="What comes later?")).to_be_visible(timeout=30_000)
        assert focused(page) == "What has the focus?"
        assert page.evaluate("document.activeElement.matches(':focus-visible')")
        page.keyboard.press("Enter")
        expect(page).to_have_url(f"{url}/journeys/{first}")


def test_a_card_is_graded_with_keys_and_only_once_its_answer_is_shown(
    browser: Browser, deployment: Deployment, url: str
) -> None:
    add(deployment, "tides follow the moon", pool="keys")

    with looking(browser) as watched:
        page = watched.see("/review?pool=keys", url)
        page.keyboard.press("3")
        expect(page.get_by_text("Show the answer")).to_be_visible()
        expect(page.locator(".answer")).to_be_hidden()
        page.keyboard.press("Space")
        expect(page.locator(".answer")).to_have_text("tides follow the moon")
        page.keyboard.press("3")
        expect(page.get_by_text("It comes back in")).to_be_visible()
        expect(page.get_by_text("Done for today")).to_be_visible()
