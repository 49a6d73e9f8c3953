"""What needs somebody, in a real browser: submitters, names, and decisions that are taken back."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import closing
from uuid import UUID, uuid4

import pytest
from playwright.sync_api import Browser, expect

from memshare.client.rest.calls.concepts import ConceptsReply, SimilarReply
from memshare.operations.backend import Backend
from memshare_broker.connection import connect
from memshare_broker.wire.lessons import Compared
from memshare_broker.wire.messages import Usage
from memshare_concepts.decisions import Decisions
from memshare_concepts.open_questions import OpenQuestions
from memshare_memory.belief.trust import Standing, Standings, decided, standings_key
from memshare_memory.contradictions import Conflicts
from memshare_memory.curate.requests import ConflictDecision, Edit, Forget
from memshare_memory.encoders.encoder import ENCODER, first_name
from memshare_memory.memory import Memory, memory_id
from memshare_memory.stores.store import Where
from tests.browser.people import DESK, HOSTILE, MARKUP, PHONE, add, looking, press, require_harmless, require_readable
from tests.support.deployment import Deployment, wait_for
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


@pytest.fixture
def nothing_stale(deployment: Deployment) -> Iterator[None]:
    """What a test leaves stale is gone once it is over."""
    memories = deployment.client.memories
    yield
    if left := [one.id for one in memories.every(Where(pool="logic", status="stale"))]:
        memories.purge(Forget(ids=tuple(left)))


def written_from(deployment: Deployment, statement: UUID, *answers: str) -> list[UUID]:
    """Answers whose agent was shown a statement."""
    made = [
        Memory(
            id=memory_id("logic", f"About {one}", one), pool="logic", agent="logic", kind="riddle",
            prompt=f"About {one}", answer=one, parents=(statement,), created=time.time(),
        )
        for one in answers
    ]  # fmt: skip
    return deployment.client.memories.restore(made)


def statuses(deployment: Deployment, memories: list[UUID]) -> list[str]:
    return [deployment.client.memories.get(one).status for one in memories]


@pytest.mark.usefixtures("nothing_stale")
@pytest.mark.parametrize(("size", "scheme"), [(DESK, "light"), (PHONE, "dark")])
def test_what_is_stale_of_one_statement_is_one_card_and_is_decided_together_with_a_key_each(
    browser: Browser, deployment: Deployment, url: str, size: dict[str, int], scheme: str
) -> None:
    memories, text = deployment.client.memories, f"Piers of {scheme} wood float. {HOSTILE}"
    [statement] = add(deployment, text, prompt=None)
    answers = (f"{text} So it is.", f"They swim in {scheme} water.", f"Not at all, say the {scheme} ones.")
    written = written_from(deployment, statement, *answers)
    memories.forget(Forget(ids=(statement,)))

    with looking(browser, viewport=size, color_scheme=scheme) as watched:
        page = watched.see("/inbox?kind=stale%20memory", url)
        item, boxes = page.locator(".item"), page.locator(".item input[type=checkbox]")
        expect(item).to_have_count(1)
        expect(page.locator(".filters [aria-current]")).to_have_text("Stale memories 1")
        expect(page.locator("#inbox-count")).to_have_text(re.compile("^[0-9]+$"))
        expect(item).to_contain_text("This was forgotten. What was written from it")
        expect(item).to_contain_text("Piers of")
        expect(item.get_by_text("repeats its words")).to_have_count(1)
        expect(boxes).to_have_count(3)
        expect(page.locator(".item input:checked")).to_have_count(1)
        require_readable(page)

        def tick_all() -> None:
            for box in boxes.all():
                box.check()

        tick_all()
        press(item, "s")
        expect(page.locator(".notice.good")).to_contain_text("Kept, and shown again: 3 memories.")
        expect(item).to_have_count(0)
        assert statuses(deployment, written) == ["active"] * 3
        page.get_by_role("button", name="Undo").click()
        expect(item).to_contain_text("This was forgotten.")
        assert statuses(deployment, written) == ["stale"] * 3

        tick_all()
        press(item, "d")
        expect(page.locator(".notice.good")).to_contain_text("Forgotten: 3 memories.")
        page.get_by_role("button", name="Undo").click()
        expect(boxes).to_have_count(3)
        assert statuses(deployment, written) == ["stale"] * 3

        kept = page.locator(f".item input[value='{written[1]}']")
        tick_all()
        kept.uncheck()
        item.focus()
        page.evaluate("htmx.trigger(document.body, 'changed')")  # what was unticked stays so as the page changes
        expect(kept).not_to_be_checked()
        press(item, "a")
        expect(page.locator(".notice.good")).to_contain_text(
            "Being graded, then shown again, hidden or left here: 2 memories."
        )
        expect(boxes).to_have_count(1)
        require_harmless(page)
        wait_for(lambda: "stale" not in statuses(deployment, [written[0], written[2]]), 30, "two to be graded")
        assert statuses(deployment, written) == ["active", "stale", "active"]
        assert [memories.get(one).score is None for one in written] == [False, True, False]


@pytest.mark.usefixtures("nothing_stale")
def test_without_scripts_the_ticked_ones_of_a_statement_that_has_changed_are_kept_and_undone(
    browser: Browser, deployment: Deployment, url: str
) -> None:
    [statement] = add(deployment, "The quay is built of oak.", prompt=None)
    written = written_from(deployment, statement, "Of oak, all of it.", "Of wood.")
    deployment.client.memories.edit(Edit(id=statement, answer="The quay is built of stone."))

    with looking(browser, expected=True, java_script_enabled=False) as watched:
        page = watched.see("/inbox?kind=stale%20memory", url)
        item = page.locator(".item")
        for text in ("This has changed", "built of oak.", "built of stone."):
            expect(item).to_contain_text(text)
        first = item.locator("button").first
        expect(first).to_have_text(re.compile("^Grade again"))
        expect(item.locator("button.main")).to_have_count(1)
        item.get_by_role("link", name="whole").last.click()
        for name in ("Grade again", "Show it again"):
            expect(page.locator("main").get_by_role("button", name=name)).to_be_visible()
        expect(page.locator("main .notice")).to_contain_text("which it was written from, was changed")
        page.go_back()
        item.get_by_label("About Of wood.").uncheck()
        item.get_by_role("button", name="Keep").click()
        expect(page.locator(".notice.good")).to_contain_text("1 memory")
        assert statuses(deployment, written) == ["active", "stale"]
        page.get_by_role("button", name="Undo").click()
        assert statuses(deployment, written) == ["stale", "stale"]
        for box in item.locator("input[type=checkbox]").all():
            box.uncheck()
        item.get_by_text("More", exact=True).click()
        item.get_by_role("button", name="Forget").click()
        expect(page.locator("main")).to_contain_text("tick the memories that you mean")
        assert statuses(deployment, written) == ["stale", "stale"]


def test_whatever_was_found_wrong_says_so_wherever_it_stands_and_what_was_right_is_contradicted_no_more(
    browser: Browser, deployment: Deployment, url: str
) -> None:
    one, other = add(deployment, "Buoys are green.", "Buoys are red.", pool="buoys", kind="knowledge")
    compared = Compared(
        memory_id=one, contradicted={other: "Green or red."}, compared=1, model="scripted", usage=Usage()
    )
    with connect(deployment.settings.redis) as client, looking(browser) as watched:
        Conflicts(client).note("buoys", compared, [other])
        page = watched.see("/pool?pool=buoys", url)
        expect(page.locator("#found").get_by_text("contradicted")).to_have_count(2)
        deployment.client.memories.decide(ConflictDecision(memories=(one, other), contradict=True, right=other))

        watched.see("/pool?pool=buoys", url)
        expect(page.locator("#found").get_by_text("contradicted")).to_have_count(0)
        loser = page.locator("#found tr", has_text="Buoys are green.")
        require_readable(page)
        loser.get_by_text(f"not shown: memory {str(other)[:8]} was found right").click()
        expect(page).to_have_url(f"{url}/memories/{other}")
        expect(page.get_by_role("heading", name="Found right over")).to_be_visible()
        expect(page.get_by_role("heading", name="Contradicted by")).to_have_count(0)
        page.get_by_role("link", name="About Buoys are green.").click()
        expect(page.locator("main .notice.bad")).to_contain_text(
            "It is not shown: About Buoys are red. · Buoys are red. was found right."
        )
        require_readable(page)
        page.get_by_role("button", name="Take the decision back").click()
        expect(page.locator(".notice.good")).to_contain_text("It is undecided again.")
        expect(page.get_by_role("heading", name="Memory")).to_be_visible()
        expect(page.get_by_role("heading", name="Contradicted by")).to_be_visible()
        Conflicts(client).drop("buoys", [one, other])


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
