"""What needs somebody, in a real browser: submitters, names, and decisions that are taken back."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import closing
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, expect

from memshare.client.rest.calls.concepts import ConceptsReply, SimilarReply
from memshare.doors.backend import Backend
from memshare_broker.connection import connect
from memshare_broker.wire.comparisons import Compared
from memshare_broker.wire.messages import Usage
from memshare_concepts.decisions import Decisions
from memshare_concepts.gaps.open_questions import OpenQuestions
from memshare_memory.pool.encoder_names import ENCODER, first_name
from memshare_memory.recall.conflicts import Conflicts
from memshare_memory.recall.standings import Standing, Standings, standings_key
from memshare_memory.recall.trust import decided
from tests.browser.people import DESK, HOSTILE, MARKUP, PHONE, add, looking, press, require_harmless, require_readable
from tests.support.deployment import Deployment
from tests.support.served import served

POOL = "inbox"


@pytest.fixture
def stranger(deployment: Deployment) -> Iterator[str]:
    """A submitter whose name is more than text, whom twelve words have not proven."""
    name = f"mallory {MARKUP}"[:60]
    [memory] = add(deployment, f"gold is blue {HOSTILE}", pool=POOL, submitter=name)
    made = deployment.client.memories.get(memory).model_copy(update={"task_id": str(uuid4())})
    deployment.client.memories.restore([made])
    standings = Standings(submitters={name: Standing(worth=-0.2, error=0.05, words=12, proven=False)})
    with connect(deployment.settings.redis) as client:
        key = standings_key(POOL, str(client.get(ENCODER) or first_name(deployment.settings)))
        client.set(key, standings.model_dump_json())
        yield name
        client.delete(key, "memshare:trust")


@pytest.mark.parametrize(("size", "scheme"), [(DESK, "dark"), (PHONE, "light")])
def test_a_submitter_is_trusted_with_a_key_and_no_more_with_another(
    browser: Browser, deployment: Deployment, url: str, stranger: str, size: dict[str, int], scheme: str
) -> None:
    with connect(deployment.settings.redis) as client, looking(browser, viewport=size, color_scheme=scheme) as watched:
        page = watched.see("/inbox?kind=submitter", url)
        item = page.locator(".item")
        expect(item).to_contain_text("-0.20 ± 0.05")
        require_readable(page)
        press(item, "e")
        expect(page).to_have_url(re.compile("/pool.*submitter="))
        expect(page.locator("#found tbody tr")).to_have_count(1)
        page.locator("#found tbody tr").get_by_role("link").click()
        expect(page.get_by_text("unproven")).to_be_visible()
        require_readable(page)

        watched.see("/inbox?kind=submitter", url)
        press(item, "a")
        expect(page.locator(".notice.good")).to_contain_text("is trusted")
        expect(item).to_have_count(0)
        require_harmless(page)
        assert decided(client)[POOL][stranger].said == "trust"
        page.get_by_role("button", name="Undo").click()
        expect(item).to_have_count(1)
        press(item, "d")
        expect(item).to_have_count(0)
        assert decided(client)[POOL][stranger].said == "leave"


def test_whoever_submitted_a_memory_is_trusted_there_without_scripts(
    browser: Browser, deployment: Deployment, url: str, stranger: str
) -> None:
    with connect(deployment.settings.redis) as client, looking(browser, java_script_enabled=False) as watched:
        page = watched.see(f"/pool?pool={POOL}", url)
        page.get_by_role("link", name="About gold is blue").click()
        page.get_by_role("button", name="Trust them in this pool").click()
        expect(page.get_by_text("trusted by")).to_be_visible()
        assert decided(client)[POOL][stranger].said == "trust"
        page.get_by_role("button", name="Trust them no more").click()
        expect(page.get_by_text("unproven", exact=True)).to_be_visible()
        assert decided(client) == {}


def test_what_was_said_of_a_contradiction_is_undone_and_a_side_is_opened_with_a_key(
    browser: Browser, deployment: Deployment, url: str
) -> None:
    one, other = add(deployment, "tides turn at six", "tides turn at nine", pool=POOL)
    compared = Compared(
        memory_id=one, contradicted={other: "Six or nine."}, compared=1, model="scripted", usage=Usage()
    )
    with connect(deployment.settings.redis) as client, looking(browser) as watched:
        conflicts = Conflicts(client)
        conflicts.note(POOL, compared, [other])
        page = watched.see("/inbox?kind=conflict", url)
        item = page.locator(".item", has_text="Six or nine.")
        texts = {one: "tides turn at six", other: "tides turn at nine"}
        a_is_one = "six" in item.locator(".sides .card").first.inner_text()
        first, second = (one, other) if a_is_one else (other, one)
        for key, right in (("a", first), ("b", second), ("d", None)):
            press(item, key)
            expect(item).to_have_count(0)
            said = f"this one alone is shown now: {texts[right]}" if right else "Both may be shown."
            expect(page.locator(".notice.good")).to_contain_text(said)
            assert [pair.right for pair in conflicts.pairs(POOL)] == ([right] if right else [])
            page.get_by_role("button", name="Undo").click()
            expect(item).to_have_count(1)
        assert [pair.confirmed for pair in conflicts.pairs(POOL)] == [False]

        press(item, "e")
        expect(page).to_have_url(re.compile("/memories/.*#edit"))
        expect(page.get_by_label("Prompt")).to_be_focused()
        conflicts.drop(POOL, [one, other])


def test_a_stale_memory_that_was_kept_is_stale_again_after_undo(
    browser: Browser, deployment: Deployment, url: str
) -> None:
    [memory] = add(deployment, "piers float", pool=POOL)
    stale = deployment.client.memories.get(memory).model_copy(update={"status": "stale"})
    deployment.client.memories.restore([stale])

    with looking(browser) as watched:
        page = watched.see("/inbox?kind=stale%20memory", url)
        page.get_by_role("button", name="Keep it").click()
        assert deployment.client.memories.get(memory).status == "active"
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("button", name="Keep it")).to_be_visible()
        assert deployment.client.memories.get(memory).status == "stale"
        press(page.locator(".item"), "d")
        expect(page.get_by_role("button", name="Keep it")).to_have_count(0)


def test_names_of_a_pool_that_was_looked_at_are_merged_here(browser: Browser, deployment: Deployment) -> None:
    two = SimilarReply(keep=f"Tide {MARKUP}", other="Tides", similarity=0.97)
    with closing(Backend(deployment.settings)) as backend, served(backend) as address, looking(browser) as watched:
        page = watched.see("/inbox", address)
        expect(page.get_by_text("Two names may mean one concept")).to_have_count(0)
        backend.concepts[POOL] = (0.0, ConceptsReply(pool=POOL, memories=2, without=0, similar=(two,)))
        watched.see("/inbox?kind=names", address)
        expect(page.locator(".item")).to_contain_text("0.97")
        require_readable(page)
        require_harmless(page)
        press(page.locator(".item"), "a")
        expect(page.locator(".notice.good")).to_contain_text("They count as one concept now.")
        expect(page.locator(".item")).to_have_count(0)
        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".item")).to_have_count(1)
        page.get_by_role("button", name=re.compile("^Two")).click()
        expect(page.locator(".item")).to_have_count(0)
    with connect(deployment.settings.redis) as client:
        assert Decisions(client, POOL).dismissed()


def test_of_two_that_are_nearly_the_same_one_is_forgotten_or_both_stay(
    browser: Browser, deployment: Deployment, url: str
) -> None:
    one, other = add(deployment, f"Corks float. {HOSTILE}", f"Corks float! {HOSTILE}", pool="corks")

    with looking(browser, viewport=PHONE, java_script_enabled=False) as watched:
        page = watched.see("/inbox", url)
        page.get_by_label("Memories that are nearly the same").select_option("corks")
        page.get_by_role("button", name="Look for them").click()
        expect(page.locator(".notice.good")).to_contain_text("1 pair of 2 memories")
        page.get_by_role("button", name="Keep both").click()
        expect(page.locator(".item")).to_have_count(0)
        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".item")).to_have_count(1)
        page.get_by_role("button", name="Forget B").click()
        expect(page.locator(".item")).to_have_count(0)
        assert [found.memory.id for found in deployment.client.memories.judge([one, other])] == [one]
        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".item")).to_have_count(1)

    with looking(browser, viewport=PHONE) as watched:
        page = watched.see("/inbox?kind=duplicate", url)
        expect(page.locator(".item")).to_have_count(1)
        require_readable(page)
        require_harmless(page)


@pytest.mark.parametrize(("size", "scheme"), [(DESK, "light"), (PHONE, "dark")])
def test_an_agent_is_asked_a_question_with_a_key_and_another_is_dropped(
    browser: Browser, deployment: Deployment, url: str, size: dict[str, int], scheme: str
) -> None:
    add(deployment, "necks are long")
    asked = f"What has a neck on a screen of {size['width']}?"
    with connect(deployment.settings.redis) as client, looking(browser, viewport=size, color_scheme=scheme) as watched:
        open_questions = OpenQuestions(client, "logic")
        open_questions.add([asked, f"What has a tongue? {HOSTILE}"], f"Riddles {MARKUP}", time.time())
        page = watched.see("/inbox?kind=question", url)
        neck, tongue = (page.locator(".item", has_text=word) for word in ("a neck", "a tongue"))
        expect(tongue).to_contain_text("Somebody asked 'Riddles <script>")
        require_readable(page)
        press(tongue, "d")
        expect(tongue).to_have_count(0)
        page.get_by_role("button", name="Undo").click()
        expect(tongue).to_have_count(1)
        press(neck, "a")
        expect(page.locator(".notice.good")).to_contain_text("An agent is asked.")
        expect(neck).to_have_count(0)
        require_harmless(page)
        open_questions.drop(one.gap for one in open_questions.all())
        expect(watched.see("/?agent=logic", url).locator("tbody tr").first).to_contain_text(asked)
