"""The pool in a real browser: several memories at once, a file of them in and out, and a cap on what is spent."""

from __future__ import annotations

import json
import re
from pathlib import Path

from playwright.sync_api import Browser, expect

from memshare_memory.stores.store import Where
from tests.browser.people import HOSTILE, PHONE, add, looking, require_harmless, require_readable
from tests.support.deployment import Deployment

ALL = Where()


def test_memories_are_found_as_one_types_and_several_are_hidden_at_once(
    browser: Browser, deployment: Deployment, url: str
) -> None:
    ids = add(deployment, "seagulls steal chips", "seagulls steal ice cream", submitter="ada")

    with looking(browser) as watched:
        page = watched.see("/pool", url)
        page.get_by_text("Conditions").click()
        page.get_by_label("Submitter").fill("ada")
        page.get_by_role("searchbox", name="Search").press_sequentially("seagulls")
        expect(page.locator("#found tbody tr")).to_have_count(2)
        expect(page).to_have_url(re.compile("q=seagulls"))
        for box in page.get_by_role("checkbox", name="choose").all():
            box.check()
        page.get_by_role("button", name="Hide the chosen").click()
        expect(page.locator(".notice.good")).to_contain_text("Hidden: 2 memories")
        expect(page.locator("#found .chip")).to_have_count(2)
        assert {deployment.client.memories.get(one).status for one in ids} == {"hidden"}

        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".notice.good")).to_contain_text("Shown again: 2 memories")
        expect(page).to_have_url(re.compile("q=seagulls.*submitter=ada"))
        assert {deployment.client.memories.get(one).status for one in ids} == {"active"}


def test_before_several_are_forgotten_it_is_said_what_else_would_go_and_all_of_it_comes_back(
    browser: Browser, deployment: Deployment, url: str
) -> None:
    one, other = add(deployment, f"terns dive {HOSTILE}", "terns cross oceans", submitter="bea")
    child = deployment.client.memories.get(other)
    deployment.client.memories.restore([child.model_copy(update={"parents": (one,)})])

    with looking(browser) as watched:
        page = watched.see("/pool?submitter=bea", url)
        page.get_by_role("checkbox", name="choose About terns dive").check()
        page.get_by_role("button", name="Forget them").click()
        expect(page.get_by_text("1 memory was written from it.")).to_be_visible()
        require_readable(page)
        require_harmless(page)
        page.get_by_label("Forget what was written from it, too").check()
        page.get_by_role("button", name="Forget it").click()
        expect(page.locator(".notice.good")).to_contain_text("Forgotten: 2 memories")
        expect(page).to_have_url(re.compile("submitter=bea"))
        expect(page.locator("#found tbody tr")).to_have_count(0)

        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".notice.good")).to_contain_text("2 memories are back")
    assert {found.memory.id for found in deployment.client.memories.judge([one, other])} == {one, other}


def test_on_a_phone_a_list_sorts_and_a_button_that_cannot_be_pressed_looks_so(
    browser: Browser, deployment: Deployment, url: str
) -> None:
    add(deployment, "a puffin")
    with looking(browser, viewport=PHONE) as watched:
        page = watched.see("/pool?pool=logic", url)
        page.get_by_role("link", name="Made").click()
        expect(page).to_have_url(re.compile("order=-created"))
        require_readable(page)

        lacking = watched.see("/worth", url).get_by_role("button", name="Consolidate")
        expect(lacking).to_be_disabled()
        expect(lacking).to_have_css("border-style", "dashed")


def test_a_file_is_looked_at_before_anything_of_it_is_in(
    browser: Browser, deployment: Deployment, url: str, tmp_path: Path
) -> None:
    add(deployment, "a clock")
    lines = [
        {"prompt": "What has hands and claps for nobody?", "answer": f"A clock. {HOSTILE}\u2028é"},
        {"prompt": "About a clock", "answer": "a clock"},
    ]
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text("\ufeff" + "\r\n".join(json.dumps(one, ensure_ascii=False) for one in lines), encoding="utf-8")
    bad.write_text(json.dumps(lines[0]) + '\n{"prompt": "no answer"}\n<b>', encoding="utf-8")

    with looking(browser, viewport=PHONE) as watched:
        page = watched.see("/pool", url)
        page.get_by_role("link", name="Import").click()
        page.get_by_label("File").set_input_files(bad)
        page.get_by_label("Pool of a document").fill("logic")
        page.get_by_role("button", name="Look at it").click()
        expect(page.get_by_text("Line 2")).to_be_visible()
        expect(page.get_by_text("Line 3")).to_be_visible()
        expect(page.get_by_role("button", name="Bring")).to_have_count(0)
        require_readable(page)

        large = tmp_path / "large.jsonl"
        large.write_bytes(b" " * 16_000_001)
        page.get_by_label("File").set_input_files(large)
        assert not page.get_by_label("File").evaluate("one => one.checkValidity()")
        page.get_by_label("File").set_input_files(good)
        page.get_by_label("Pool of a document").fill("logic")
        page.get_by_role("button", name="Look at it").click()
        expect(page.locator("tbody tr")).to_have_count(1)
        expect(page.locator("tbody")).to_contain_text("What has hands")
        assert "hands" not in {one.prompt for one in deployment.client.memories.page(ALL).memories}
        require_readable(page)
        page.get_by_role("button", name="Bring 1 new memory in").click()
        expect(page.locator(".notice.good")).to_contain_text("1 new memory; 1 already there")

    assert f"A clock. {HOSTILE}\u2028é" in {one.answer for one in deployment.client.memories.page(ALL).memories}


def test_a_document_is_brought_in_forgotten_and_removed_for_good_by_clicks_alone(
    browser: Browser, deployment: Deployment, url: str, tmp_path: Path
) -> None:
    (tmp_path / "mill.md").write_text("# Mill\n\nThe mill turns, prompt, answer, at dawn.\n\nIts wheels are oak.\n")

    with looking(browser, viewport=PHONE) as watched:
        page = watched.see("/pool/import", url)
        page.get_by_label("File").set_input_files(tmp_path / "mill.md")
        page.get_by_label("Pool of a document").fill("logic")
        page.get_by_role("button", name="Look at it").click()
        expect(page.locator("tbody tr")).to_have_text([re.compile("prompt, answer, at dawn"), re.compile("are oak")])
        page.get_by_role("button", name="Bring 2 new memories in").click()
        expect(page.locator(".notice.good")).to_contain_text("2 new memories")
        found = deployment.client.memories.page(ALL).memories
        for one in (memory for memory in found if memory.answer.startswith(("The mill", "Its wheels"))):
            watched.see(f"/memories/{one.id}/forget", url)
            page.get_by_role("button", name="Forget it").click()
        watched.see("/trash", url)
        mill, wheels = (page.get_by_role("article").filter(has_text=text) for text in ("The mill", "Its wheels"))
        mill.get_by_label("for good").check()
        require_readable(page)
        page.get_by_role("button", name="Remove the ticked for good").click()
        expect(page.get_by_role("heading", name="Remove 1 memory for good?")).to_be_visible()
        expect(page.get_by_text("The mill turns")).to_be_visible()
        require_readable(page)
        page.get_by_role("button", name="Remove for good").click()
        expect(page.locator(".notice.good")).to_contain_text("It has begun")
        wheels.get_by_label("for good").check()
        expect(page.locator("#trash")).to_contain_text("Done", timeout=120_000)
        expect(mill).to_have_count(0)
        expect(wheels.get_by_label("for good")).to_be_checked()


def test_what_the_list_shows_can_be_kept_as_a_file_that_an_import_takes(
    browser: Browser, deployment: Deployment, url: str, tmp_path: Path
) -> None:
    ids = add(deployment, "corks float", "corks burn", submitter="cy")

    with looking(browser) as watched:
        page = watched.see("/pool?submitter=cy", url)
        with page.expect_download() as kept:
            page.get_by_role("link", name="export all that fit").click()
        kept.value.save_as(tmp_path / "kept.jsonl")
        assert kept.value.suggested_filename == "memories.jsonl"
        lines = (tmp_path / "kept.jsonl").read_text(encoding="utf-8").splitlines()
        assert {json.loads(line)["id"] for line in lines} == {str(one) for one in ids}

        watched.see("/pool/import", url)
        page.get_by_label("File").set_input_files(tmp_path / "kept.jsonl")
        page.get_by_role("button", name="Look at it").click()
        expect(page.locator(".figures")).to_contain_text("There already2")


def test_a_cap_is_set_and_taken_away_where_it_is_seen(browser: Browser, url: str) -> None:
    with looking(browser) as watched:
        page = watched.see("/now", url)
        page.get_by_label("Whom it is for").fill("agent poem")
        page.get_by_label("Tokens").fill("100000")
        page.get_by_role("button", name="Set it").click()
        expect(page.locator(".notice.good")).to_contain_text("The cap of agent poem is set.")
        expect(page.get_by_role("row", name=re.compile("agent poem"))).to_contain_text("100,000 tokens")
        require_readable(page)
        page.get_by_role("button", name="Remove the cap of poem").click()
        expect(page.get_by_text("No caps")).to_be_visible()


def test_a_long_list_has_pages_whose_total_heeds_the_conditions(
    browser: Browser, deployment: Deployment, url: str
) -> None:
    add(deployment, *(f"pebble number {number}" for number in range(52)), submitter="dee", kind="stone")
    add(deployment, "pebble of another", submitter="eve", kind="stone")

    with looking(browser, expected=True, viewport=PHONE) as watched:
        page = watched.see("/pool?submitter=dee&order=-created", url)
        expect(page.locator("#found tbody tr")).to_have_count(50)
        expect(page.get_by_role("status")).to_contain_text("1 to 50 of 52 memories, oldest first")
        seen = page.locator("#found tbody tr a").all_inner_texts()
        page.get_by_role("link", name="Next 50").click()
        expect(page.locator("#found tbody tr")).to_have_count(2)
        expect(page.get_by_role("status")).to_contain_text("51 to 52 of 52")
        seen += page.locator("#found tbody tr a").all_inner_texts()
        assert set(seen) == {f"About pebble number {number}" for number in range(52)}
        require_readable(page)

        page.get_by_role("checkbox", name="choose").first.check()
        page.get_by_role("button", name="Hide the chosen").click()
        expect(page.get_by_role("status").last).to_contain_text("51 to 52 of 52")
        page.get_by_role("button", name="Undo").click()
        watched.see("/pool?kind=stone&q=pebble", url)
        page.get_by_role("link", name="Next 50").click()
        expect(page.locator("#found tbody tr")).to_have_count(3)
        expect(page.get_by_role("link", name="Previous 50")).to_be_visible()
        watched.see("/pool?kind=stone&page=x", url)
        expect(page.get_by_text("There is no page 'x'")).to_be_visible()


def test_conditions_say_how_many_memories_have_each_value(browser: Browser, deployment: Deployment, url: str) -> None:
    add(deployment, "newts hide", "newts sleep", pool="ponds", submitter="fay")
    add(deployment, "newts swim", pool="ponds", submitter="gus")

    with looking(browser) as watched:
        page = watched.see("/pool?pool=ponds", url)
        options = page.locator("#known-submitter option")
        assert {one.get_attribute("value"): one.text_content() for one in options.all()} == {
            "fay": "about 2",
            "gus": "about 1",
        }
        expect(page.locator("#status option", has_text="active")).to_have_text("active (3)")
        page.get_by_text("Conditions").click()
        page.get_by_label("Credibility to").fill("0.5")
        expect(page.get_by_text("No memory fits.")).to_be_visible()
