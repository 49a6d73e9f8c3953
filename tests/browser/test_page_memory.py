"""One memory in a real browser: what was written from it, who was shown it, and changes that are taken back."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.people import DESK, HOSTILE, PHONE, add, looking, require_harmless, require_readable
from tests.support.deployment import Deployment


@pytest.mark.parametrize(("size", "scheme"), [(DESK, "light"), (PHONE, "dark")])
def test_a_memory_names_what_was_written_from_it_and_the_tasks_that_were_shown_it(
    browser: Browser, deployment: Deployment, url: str, size: dict[str, int], scheme: Any
) -> None:
    tag = f"moles-{scheme}"
    parent, child = add(deployment, f"moles dig {HOSTILE}", f"molehills are heaps {HOSTILE}", pool="logic")
    written = deployment.client.memories.get(child).model_copy(update={"parents": (parent,)})
    deployment.client.memories.restore([written])
    task = deployment.client.submit("logic", f"{tag}: About moles dig {HOSTILE}", kind="riddle").id
    deployment.settled(task)

    with looking(browser, viewport=size, color_scheme=scheme) as watched:
        page = watched.see(f"/memories/{parent}", url)
        require_readable(page)
        require_harmless(page)
        shown = page.locator("#shown ~ table tbody tr", has_text=tag)
        expect(shown).to_have_count(1)
        expect(shown.locator("td").nth(1)).to_have_text(re.compile(r"\d+%"))
        expect(shown.locator("td").nth(2)).to_have_text("90")
        expect(page.get_by_text("Mean score with it")).to_be_visible()
        shown.get_by_role("link").click()
        expect(page).to_have_url(f"{url}/journeys/{task}")
        page.go_back()
        page.get_by_role("heading", name="Written from it").locator("+ ul").get_by_role(
            "link", name="About molehills"
        ).click()
        expect(page).to_have_url(f"{url}/memories/{child}")
        expect(page.get_by_role("heading", name="Written with")).to_be_visible()
    deployment.client.memories.restore([written.model_copy(update={"status": "hidden"})])


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_a_long_word_of_a_related_memory_widens_no_page(
    browser: Browser, deployment: Deployment, url: str, size: dict[str, int]
) -> None:
    [long], [child] = add(deployment, "x" * 120, prompt=None), add(deployment, f"ants carry {size['width']}")
    written = deployment.client.memories.get(child).model_copy(update={"parents": (long,)})
    deployment.client.memories.restore([written])

    with looking(browser, viewport=size) as watched:
        page = watched.see(f"/memories/{child}", url)
        expect(page.get_by_role("heading", name="Written with").locator("+ ul")).to_contain_text("xxxx")
        require_readable(page)
        require_readable(watched.see(f"/memories/{long}/forget", url))
        watched.see("/pool?q=xxxx&pool=logic", url)
        page.locator(f"input[name=id][value='{long}']").check()
        page.get_by_role("button", name="Forget").first.click()
        expect(page.get_by_role("heading", name="Forget this memory?")).to_be_visible()
        require_readable(page)
    deployment.client.memories.restore([written.model_copy(update={"status": "hidden"})])


def undo(page: Page) -> None:
    page.get_by_role("button", name="Undo").click()


def test_a_change_of_a_memory_is_taken_back_without_scripts(browser: Browser, deployment: Deployment, url: str) -> None:
    [memory] = add(deployment, "otters sleep afloat")

    with looking(browser, java_script_enabled=False) as watched:
        page = watched.see(f"/memories/{memory}", url)
        page.get_by_role("button", name="Hide").click()
        undo(page)
        expect(page.get_by_role("button", name="Hide")).to_be_visible()
        assert deployment.client.memories.get(memory).status == "active"

        page.get_by_text("Change its text").click()
        page.get_by_label("Answer").fill("otters sleep ashore")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".answer")).to_have_text("otters sleep ashore")
        undo(page)
        expect(page.locator(".answer")).to_have_text("otters sleep afloat")

    assert [one.answer for one in deployment.client.memories.get(memory).history] == [
        "otters sleep afloat",
        "otters sleep ashore",
    ]


def test_what_is_undone_too_late_changes_nothing(browser: Browser, deployment: Deployment, url: str) -> None:
    [memory] = add(deployment, "stoats turn white")

    with looking(browser, expected=True) as watched:
        page = watched.see(f"/memories/{memory}", url)
        page.get_by_text("Change its text").click()
        page.get_by_label("Answer").fill("stoats turn grey")
        page.get_by_role("button", name="Save").click()
        request = page.request
        version = request.get(f"{url}/v1/memories/{memory}").json()["version"]
        changed = request.patch(
            f"{url}/v1/memories/{memory}", data={"answer": "stoats turn brown"}, headers={"If-Match": version}
        )
        assert changed.ok
        undo(page)
        expect(page.get_by_text("has changed since you read it")).to_be_visible()

    assert deployment.client.memories.get(memory).answer == "stoats turn brown"
