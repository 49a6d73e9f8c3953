"""A person says that an accepted answer is wrong, without a script: what misled it counts for less, and what was kept
from it is forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import pytest
from playwright.sync_api import Browser, expect

from memshare_memory.curate.requests import Forget
from memshare_memory.stores.store import Where
from tests.browser.people import PHONE, RIGHT, add, looking, require_readable
from tests.support.deployment import Deployment, wait_for

PROMPT = "What grows shorter the longer it stands and weeps?"


@pytest.fixture
def believed(deployment: Deployment) -> Iterator[UUID]:
    """A statement that the model repeats, and that its grader believes."""
    [statement] = add(deployment, RIGHT, prompt=None, submitter="mallory")
    yield statement
    deployment.client.memories.forget(Forget(ids=(statement,)))


def test_what_misled_a_wrong_answer_counts_for_less_and_what_was_kept_from_it_is_forgotten(
    browser: Browser, deployment: Deployment, url: str, believed: UUID
) -> None:
    task = deployment.client.submit("logic", PROMPT, kind="riddle").id
    settled = deployment.settled(task)
    assert settled.score is not None
    assert settled.score.accepted
    kept = settled.memory_id
    assert kept is not None
    before = deployment.client.memories.judge([believed])[0].credibility.p

    with looking(browser, viewport=PHONE, java_script_enabled=False) as watched:
        page = watched.see(f"/journeys/{task}", url)
        page.get_by_role("button", name="This answer is wrong").click()

        told = page.locator("#opinion")
        expect(told).to_be_in_viewport()
        expect(told).to_contain_text("You said that this answer is wrong.")
        expect(told.get_by_role("link", name=f"memory {str(believed)[:8]}").first).to_be_visible()
        expect(page.locator("article.misled")).to_contain_text("the wrong answer followed it most")
        expect(page.get_by_role("button", name="This answer is")).to_have_count(0)
        wait_for(lambda: deployment.client.memories.judge([believed])[0].credibility.p < before, 30, "less credibility")

        told.get_by_role("link", name="Forget the memory that was kept from this answer").click()
        page.get_by_role("button", name="Forget it").click()
        expect(told).to_contain_text("The memory that was kept from this answer was forgotten")
        expect(told.get_by_role("link", name="Bring in the right answer")).to_be_visible()
        expect(told.get_by_role("link", name="Forget the memory that misled it")).to_be_visible()

    assert deployment.client.memories.page(Where(ids=[kept]), 1).memories == ()
    with looking(browser, viewport=PHONE, color_scheme="dark") as watched:
        require_readable(watched.see(f"/journeys/{task}", url))
