"""Agents and rubrics in a real browser: what an agent is told, and a drafted rubric that is tried and approved."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Browser, expect

from memshare_scorer.rubric import BUNDLED, Criterion, Rubric, find_rubric
from memshare_scorer.rubric_file import Drafting, write, write_drafting
from tests.browser.people import DESK, HOSTILE, MARKUP, PHONE, STRICT, looking, require_harmless, require_readable
from tests.support.deployment import Deployment, wait_for

BANDS = {"full": "a", "most": "b", "part": "c", "none": "d"}


def criterion(name: str, points: int, said: str, **more: object) -> dict[str, object]:
    return {"name": name, "points": points, "description": said, **more}


DRAFTS = {
    "drafts": [
        {"criteria": [criterion("brevity", 60, "Short."), criterion("wit", 40, MARKUP)]},
        {"criteria": [criterion("wit", 90, "Funny."), criterion("rhyme", 10, "It rhymes.")]},
    ],
    "merged": {
        "judgements": [
            {"draft": 1, "keeps": "It is clear.", "lacks": MARKUP},
            {"draft": 2, "keeps": "It likes wit.", "lacks": "It forgets brevity."},
        ],
        "criteria": [
            criterion(name, 50, "How good.", taken_from=[1], why=f"Only one has it. {MARKUP}", bands=BANDS)
            for name in ("brevity", "wit")
        ],
    },
}


def drafted(deployment: Deployment) -> Rubric:
    """A rubric that a model drafted, in the folder of the deployment."""
    assert deployment.settings.agents_dir is not None
    file = deployment.settings.agents_dir / "strict.rubric.toml"
    criteria = tuple(Criterion(name=name, points=50, description=f"How good: {MARKUP}") for name in ("brevity", "wit"))
    rubric = Rubric(domain=f"{STRICT} {MARKUP}", criteria=criteria)
    write(rubric, file)
    write_drafting(
        Drafting.model_validate_json(json.dumps(DRAFTS | {"domain": STRICT, "version": rubric.version})), file
    )
    return rubric


def test_a_drafted_rubric_is_tried_on_what_was_graded_and_then_approved(
    browser: Browser, deployment: Deployment, url: str
) -> None:
    for number in range(3):
        task = deployment.client.submit("logic", f"What has {number} hands?", kind="riddle").id
        assert deployment.settled(task).score is not None
    rubric = drafted(deployment)
    memories = deployment.client.memories.stats().by_pool

    with looking(browser) as watched:
        page = watched.see("/inbox", url)
        expect(page.locator(".item")).to_have_count(1)
        page.get_by_role("link", name="The whole rubric").click()
        expect(page.get_by_text("It forgets brevity.")).to_be_visible()
        expect(page.get_by_text("Only one has it.").first).to_be_visible()
        page.get_by_label("Put another rubric beside it").select_option("logic")
        page.get_by_role("button", name="Compare").click()
        expect(page.locator(".sides h2").last).to_contain_text("logic")

        page.get_by_label("Answers of").select_option("logic")
        page.get_by_role("button", name="Grade its last ten by this rubric").click()
        rows = page.locator("#live tbody tr")
        expect(rows).to_have_count(3)
        expect(rows.first).to_contain_text("-40.0", timeout=30_000)  # it comes by itself
        expect(rows.first).to_contain_text("90.0 accepted, logic")
        expect(rows.first).to_contain_text("50.0 not accepted")
        require_readable(page)
        require_harmless(page)
        rows.first.get_by_role("link", name="50.0").click()
        expect(page.get_by_text("A trial: what the rubric strict says")).to_be_visible()
        expect(page.get_by_role("button", name="Ask again")).to_have_count(0)
    with looking(browser, viewport=PHONE, color_scheme="dark") as watched:
        require_readable(watched.see("/rubrics/strict?beside=logic", url))
    assert deployment.client.memories.stats().by_pool == memories
    assert not find_rubric("strict", deployment.settings.agents_dir).approved

    with looking(browser) as watched:
        page = watched.see("/rubrics/strict", url)
        page.get_by_label("Your name").fill("Ada Lovelace")
        page.get_by_role("button", name="Approve").click()
        expect(page.locator(".notice.good")).to_contain_text("The rubric strict is approved")
        expect(page.get_by_role("button", name="Approve")).to_have_count(0)
        page = watched.see("/agents", url)
        expect(page.get_by_role("row", name=re.compile("strict"))).to_contain_text("yes")
        page = watched.see("/", url)
        expect(page.locator("tbody tr")).to_have_count(3)  # trials are no journeys of anybody

    approved = find_rubric("strict", deployment.settings.agents_dir)
    assert (approved.version, approved.approved) == (rubric.version, True)


def test_a_withdrawn_rubric_grades_nothing_until_it_is_approved_again(
    browser: Browser, deployment: Deployment, url: str
) -> None:
    folder = deployment.settings.agents_dir
    assert folder is not None
    file = folder / "logic.rubric.toml"
    file.write_text((BUNDLED / "logic.toml").read_text())

    with looking(browser, java_script_enabled=False, viewport=PHONE) as watched:
        page = watched.see("/rubrics/logic", url)
        expect(page.locator("#withdraw")).to_contain_text("Agents go on answering")
        whole = "[...document.querySelectorAll('.cards .text')].every(one => one.scrollHeight <= one.clientHeight)"
        assert page.evaluate(whole), "what is approved can be read whole"
        page.get_by_role("button", name="Withdraw the approval").click()
        expect(page.locator(".notice.good")).to_contain_text("The approval of the rubric logic is withdrawn.")

        task = deployment.client.submit("logic", "What is withdrawn and comes back?", kind="riddle").id
        wait_for(lambda: deployment.client.journey(task).dead is not None, 30, "the answer to be given up")
        page = watched.see("/rubrics/logic", url)
        expect(page.get_by_text("1 answer was given up because a rubric was not approved")).to_be_visible()
        page.get_by_label("Your name").fill("Ada Lovelace")
        page.get_by_role("button", name="Approve").click()
        expect(page.get_by_text("Approved by Ada Lovelace")).to_be_visible()

        page.get_by_role("link", name="dead letters").click()
        page.get_by_role("button", name="Try it again").click()
        assert deployment.settled(task).score is not None

        watched.see("/rubrics/logic", url)
        page.get_by_role("button", name="Withdraw the approval").click()
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text("Approved by Ada Lovelace")).to_be_visible()
    file.unlink()


@pytest.mark.parametrize(("size", "scheme"), [(DESK, "dark"), (PHONE, "light")])
def test_what_an_agent_is_told_is_read_beside_its_rubric(
    browser: Browser, deployment: Deployment, url: str, size: dict[str, int], scheme: str
) -> None:
    assert deployment.settings.agents_dir is not None
    file = deployment.settings.agents_dir / "logic.toml"
    told = json.dumps(f"Rhyme. {HOSTILE}")
    file.write_text(f'description = "Riddles."\npool = "logic"\nrubric = "logic"\ninstructions = {told}\n')

    with looking(browser, viewport=size, color_scheme=scheme) as watched:
        page = watched.see("/agents", url)
        page.get_by_role("link", name="logic", exact=True).first.click()
        expect(page.get_by_role("heading", name="Agent logic")).to_be_visible()
        expect(page.get_by_text("Rhyme. <script>")).to_be_visible()
        require_readable(page)
        require_harmless(page)
        page.get_by_role("link", name="rubric logic").click()
        expect(page.get_by_role("heading", name="Rubric logic")).to_be_visible()
    file.unlink()
