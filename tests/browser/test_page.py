"""The page for people in a real browser, on real workers: each screen as a person would use it."""

from __future__ import annotations

import getpass
import re
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any
from uuid import UUID

import httpcore2
import pytest
from playwright.sync_api import Browser, Page, expect

from memshare.operations.backend import Backend
from memshare_broker.connection import connect
from memshare_broker.presence import Presence, announce, withdraw
from memshare_broker.settings import OFFLINE
from memshare_broker.wire.lessons import Compared
from memshare_broker.wire.messages import Usage
from memshare_concepts.reviews import Card, CardStore
from memshare_memory.belief.lift import LiftSums, TaskGroup
from memshare_memory.contradictions import Conflicts
from memshare_memory.curate.requests import NewMemory
from tests.browser.people import (
    HOSTILE,
    MARKUP,
    PHONE,
    RIGHT,
    WRONG,
    add,
    bury,
    looking,
    require_harmless,
    require_readable,
)
from tests.support.deployment import Deployment
from tests.support.served import served

RIDDLE = "What grows shorter the longer it stands?"
SCREENS = (
    "/",
    "/pool",
    "/pool?q=lamp",
    "/inbox",
    "/worth?query=lamp&pool=logic",
    "/now",
    "/review?pool=logic",
    "/trash",
    "/agents",
    "/agents/reasoning",
    "/rubrics/poem?beside=logic",
    "/access",
    "/pool/import",
    "/map?pool=logic",
    "/sign-in",
)


@pytest.fixture(scope="module")
def misled(deployment: Deployment) -> UUID:
    """A wrong memory, which is what the next riddle is answered with."""
    new = NewMemory(pool="logic", prompt=f"{RIDDLE} A riddle.", answer=WRONG, submitter="mallory", new_pool=True)
    return deployment.client.memories.add([new])[0]


def contradict(deployment: Deployment, one: UUID, other: UUID, claims: str) -> None:
    """Note what a model would say of two memories."""
    compared = Compared(memory_id=one, contradicted={other: claims}, compared=1, model="scripted", usage=Usage())
    with connect(deployment.settings.redis) as client:
        Conflicts(client).note("logic", compared, [other])


def test_who_does_not_know_memshare_finds_what_misled_an_answer_and_forgets_it(
    browser: Browser, url: str, misled: UUID
) -> None:
    with looking(browser) as watched:
        page = watched.see("/", url)
        page.get_by_label("Try a prompt").fill(RIDDLE)
        page.get_by_label("Agent and kind").select_option("logic/riddle")
        page.get_by_role("button", name="Ask").click()

        expect(page.locator(".total")).to_contain_text("not accepted", timeout=30_000)  # it comes by itself
        expect(page.locator("article.followed")).to_contain_text(WRONG)
        expect(page.locator(".hops")).to_contain_text("not remembered")
        page.locator("article.followed").get_by_role("link", name="Change it").click()
        expect(page.get_by_label("Answer", exact=True)).to_have_value(WRONG)
        page.go_back()
        page.locator("article.followed").get_by_role("link", name="Forget it").click()
        page.get_by_role("button", name="Forget it").click()
        expect(page.get_by_role("button", name="Undo")).to_be_visible()
        expect(page.locator("article.followed")).to_contain_text("forgotten since")
        expect(page.locator("article.followed")).to_contain_text(WRONG)
        require_readable(page)
        page.get_by_role("link", name="Bring in the right fact").click()
        expect(page.get_by_label("Answer, or the statement")).to_be_visible()
        page.go_back()

        page.get_by_role("button", name="Ask again").click()
        expect(page.locator(".total")).to_contain_text(": accepted", timeout=30_000)
        expect(page.locator(".sides .answer").first).to_have_text(RIGHT)
        expect(page.locator(".sides .answer").last).to_have_text(WRONG)

        watched.see("/trash", url)
        expect(page.locator("article")).to_contain_text(WRONG)
        page.get_by_role("button", name="Bring it back").click()
        expect(page).to_have_url(f"{url}/memories/{misled}")


def test_a_task_without_memories_stands_beside_the_one_with_them(
    browser: Browser, deployment: Deployment, url: str
) -> None:
    add(deployment, "lamps that burn whale oil")
    task = deployment.client.submit("logic", "About lamps that burn whale oil", kind="riddle").id
    deployment.settled(task)

    with looking(browser) as watched:
        page = watched.see(f"/journeys/{task}", url)
        page.get_by_role("button", name="Ask without memories").click()
        expect(page.get_by_role("heading", name="This one, without memories")).to_be_visible()
        expect(page.get_by_role("heading", name=re.compile("The one before, with "))).to_be_visible()
        expect(page.locator(".hops")).to_contain_text("graded", timeout=30_000)


def test_a_contradiction_and_a_dead_letter_are_decided_with_the_keyboard_alone(
    browser: Browser, deployment: Deployment, url: str
) -> None:
    one, other = add(deployment, "the tide turns at six", "the tide turns at nine")
    contradict(deployment, one, other, "One says six, the other nine.")
    bury(deployment, "given-up-1", "The model refused this one.")

    with looking(browser) as watched:
        page = watched.see("/inbox", url)
        expect(page.locator(".item")).to_have_count(2)
        page.keyboard.press("j")
        expect(page.locator(".item").first).to_be_focused()
        at = page.locator(".item").first
        expect(at).to_have_attribute("aria-label", "conflict")
        page.keyboard.press("d")
        expect(page.locator(".item")).to_have_count(1)
        expect(page.locator(".item").first).to_be_focused()
        page.keyboard.press("d")  # no key drops a letter: that is asked for
        at.get_by_text("Drop it …").press("Enter")
        at.get_by_role("button", name="Drop it").press("Enter")
        expect(page.locator(".item")).to_have_count(0)
        expect(page.get_by_text("Nothing needs you")).to_be_visible()

    assert deployment.client.memories.judge([one])[0].conflicts in ((), (other,))
    assert "given-up-1" not in deployment.client.dead_letters


def test_the_number_of_what_needs_somebody_follows_by_itself_on_every_page(
    browser: Browser, deployment: Deployment, url: str
) -> None:
    with looking(browser) as watched:
        page = watched.see("/now", url)
        expect(page.locator("#inbox-count")).to_be_hidden()

        bury(deployment, "given-up-2", "The model refused this one, too.")

        expect(page.locator("#inbox-count")).to_have_text("1", timeout=15_000)
        # A page at work is shown anew every 15 seconds at the longest.
        expect(page.get_by_text("The model refused this one, too.")).to_be_visible(timeout=25_000)
    deployment.client.dead_letters.drop(deployment.client.dead_letters.get("given-up-2"))


def test_of_two_who_change_a_memory_the_second_is_told_and_loses_nothing(
    browser: Browser, deployment: Deployment, url: str
) -> None:
    [memory] = add(deployment, "pilots know the channel")
    with looking(browser) as first, looking(browser, expected=True) as second:
        for one in (first, second):
            one.see(f"/memories/{memory}", url)
            one.page.get_by_text("Change its text").click()
        first.page.get_by_label("Answer").fill("pilots know both channels")
        first.page.get_by_role("button", name="Save").click()
        expect(first.page.locator("ins")).to_contain_text("both channels")

        second.page.get_by_label("Answer").fill("pilots know the old channel")
        second.page.get_by_role("button", name="Save").click()

        expect(second.page.get_by_role("alert")).to_contain_text("Somebody has changed this memory")
        expect(second.page.get_by_label("Answer, as you wrote it")).to_have_value("pilots know the old channel")
        expect(second.page.locator(".answer")).to_have_text("pilots know both channels")
        second.page.get_by_role("button", name="Save").click()
        expect(second.page.locator(".answer")).to_have_text("pilots know the old channel")

    assert [one.answer for one in deployment.client.memories.get(memory).history] == [
        "pilots know the channel",
        "pilots know both channels",
    ]


def test_hostile_texts_are_shown_as_text_on_every_page(browser: Browser, deployment: Deployment, url: str) -> None:
    task = deployment.client.submit("poem", HOSTILE, submitter=MARKUP).id
    memory = deployment.settled(task).memory_id
    assert memory is not None
    one, other = add(deployment, f"{HOSTILE} one", f"{HOSTILE} other", submitter=MARKUP, kind=MARKUP)
    contradict(deployment, one, other, HOSTILE)
    bury(deployment, "given-up-3", HOSTILE)

    asked = urllib.parse.quote(HOSTILE)
    with looking(browser) as watched:
        for path in (
            "/", f"/journeys/{task}", f"/memories/{memory}", f"/memories/{one}/forget", "/pool", f"/pool?q={asked}",
            "/inbox", "/now", f"/worth?query={asked}&pool=logic",
        ):  # fmt: skip
            page = watched.see(path, url)
            require_harmless(page)
            assert r"<script>alert(1)</script>" in page.locator("main").inner_text(), path
    with looking(browser, expected=True) as watched:
        require_harmless(watched.see(f"/?agent={asked}", url))  # no agent can have that name
    contradict_no_more(deployment, one, other)
    deployment.client.dead_letters.drop(deployment.client.dead_letters.get("given-up-3"))


def compare_unfairly(deployment: Deployment) -> None:
    """Tasks of which far more have no grade with memories, which *Does it help* says at length."""
    group = TaskGroup("all withheld", "logic", "riddle", "openai:scripted")
    with connect(deployment.settings.redis) as client:
        for number in range(60):
            LiftSums(client).note("logic", f"unfair {number}", group, withheld=False)
        for number in range(40):
            LiftSums(client).count("logic", f"graded {number}", number, group, withheld=number % 2 == 0)


def contradict_no_more(deployment: Deployment, *memories: UUID) -> None:
    with connect(deployment.settings.redis) as client:
        Conflicts(client).drop("logic", memories)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", ["desk", "phone"])
def test_every_screen_can_be_read_by_everybody_and_fits(
    browser: Browser, deployment: Deployment, url: str, size: str, scheme: str
) -> None:
    one, other = add(deployment, "buoys are green", "buoys are red")
    contradict(deployment, one, other, "One says green, the other red.")
    bury(deployment, "given-up-4", "The model refused this one.")
    compare_unfairly(deployment)
    task = deployment.client.submit("logic", "About buoys are green", kind="riddle").id
    deployment.settled(task)
    options: dict[str, Any] = {"viewport": PHONE} if size == "phone" else {}

    with looking(browser, color_scheme=scheme, **options) as watched:
        for path in (*SCREENS, f"/journeys/{task}", f"/memories/{one}", f"/memories/{one}/forget"):
            require_readable(watched.see(path, url))
        watched.see("/", url)
        for link in watched.page.get_by_role("navigation").get_by_role("link").all():
            expect(link).to_be_in_viewport(ratio=1)  # the whole menu, also on a telephone
        row = watched.page.locator("tbody tr", has=watched.page.locator(f"a[href$='{task}']")).bounding_box()
        assert row is not None
        assert row["height"] < 120, "a row of a list is a few lines"
    contradict_no_more(deployment, one, other)
    deployment.client.dead_letters.drop(deployment.client.dead_letters.get("given-up-4"))


def test_a_card_is_learnt_on_a_telephone_and_comes_back_another_time(
    browser: Browser, deployment: Deployment, url: str
) -> None:
    [memory] = add(deployment, "sextants measure angles", pool="cards")

    with looking(browser, viewport=PHONE) as watched:
        page = watched.see("/review?pool=cards", url)
        expect(page.get_by_text("sextants measure angles", exact=True)).to_be_hidden()
        page.get_by_text("Show the answer").click()
        expect(page.locator(".answer")).to_have_text("sextants measure angles")
        page.get_by_role("button", name="Good").click()
        expect(page.get_by_text("It comes back in")).to_be_visible()
        expect(page.get_by_text("Done for today")).to_be_visible()
        expect(page.locator(".year .level-1")).to_have_count(1)

    assert [one for one, card in cards(deployment).items() if card.reviews[-1].grade == "good"] == [memory]


def cards(deployment: Deployment) -> dict[UUID, Card]:
    """What whoever runs the tests has learnt."""
    with connect(deployment.settings.redis) as client:
        return CardStore(client, getpass.getuser()).cards("cards")


def test_everything_works_without_scripts(browser: Browser, deployment: Deployment, url: str) -> None:
    [memory] = add(deployment, "harbours freeze in March")

    with looking(browser, java_script_enabled=False) as watched:
        page = watched.see("/pool", url)
        page.get_by_role("searchbox", name="Search").fill("harbours freeze")
        page.get_by_role("searchbox", name="Search").press("Enter")
        page.get_by_role("link", name="About harbours freeze in March").click()
        page.get_by_role("button", name="Hide").click()
        expect(page.get_by_role("button", name="Show it again")).to_be_visible()
        watched.see("/", url)
        page.get_by_label("Try a prompt").fill("A limerick about a pier")
        page.get_by_label("Agent and kind").select_option("poem/limerick")
        page.get_by_role("button", name="Ask").click()
        expect(page.get_by_role("heading", name="A limerick about a pier")).to_be_visible()

    assert deployment.client.memories.get(memory).status == "hidden"


@pytest.fixture
def tokens(deployment: Deployment) -> Iterator[Callable[..., str]]:
    """Makes tokens, which are revoked at the end."""
    with closing(Backend(deployment.settings)) as backend:
        made: list[str] = []

        def make(name: str, *may: str) -> str:
            made.append(name)
            return backend.tokens.create(name, may, ("logic",))

        yield make
        for name in made:
            backend.tokens.revoke(name)


def sign_in(page: Page, token: str) -> None:
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()


def test_who_may_only_look_sees_their_pools_and_changes_nothing(
    browser: Browser, deployment: Deployment, url: str, tokens: Callable[..., str]
) -> None:
    [memory] = add(deployment, "gulls nest on roofs")
    token = tokens("viewer", "recall")

    with looking(browser, expected=True) as watched:
        page = watched.see("/pool", url)
        expect(page).to_have_url(f"{url}/sign-in?to=%2Fpool")
        sign_in(page, "msh_viewer_wrong")
        expect(page.get_by_role("alert")).to_contain_text("not known")
        sign_in(page, token)
        expect(page).to_have_url(f"{url}/pool")
        watched.see("/", url)
        expect(page.get_by_label("Try a prompt")).to_have_count(0)
        [cookie] = [one for one in page.context.cookies() if one["name"] == "memshare_session"]
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        assert token not in cookie["value"]

        watched.see(f"/memories/{memory}", url)
        expect(page.locator(".answer")).to_have_text("gulls nest on roofs")
        expect(page.get_by_role("button", name="Hide")).to_have_count(0)
        answer = page.request.post(
            f"{url}/pool/several/forget", headers={"Origin": url}, form={"id": str(memory)}, max_redirects=0
        )
        assert answer.status == 403

        page.get_by_role("button", name="Sign out").click()
        watched.see("/pool", url)
        expect(page).to_have_url(f"{url}/sign-in?to=%2Fpool")


def test_whoever_runs_it_makes_a_token_in_the_page_signs_in_with_it_and_revokes_it(browser: Browser, url: str) -> None:
    with looking(browser) as watched:
        page = watched.see("/access", url)
        page.get_by_label("Name of who gets it").fill("owner")
        page.get_by_label("admin").check()
        page.get_by_role("button", name="Make it").click()
        token = page.locator(".notice code").inner_text()
        assert token.startswith("msh_owner_")
        page.get_by_role("link", name="Sign in").click()
        sign_in(page, token)
        watched.see("/access", url)
        assert token not in page.content()
        page.get_by_role("button", name="Revoke owner").click()
        expect(page).to_have_url(f"{url}/access")  # there is none any more, so this machine needs none
        expect(page.locator(".notice.good")).to_contain_text("for its user on this machine alone")


def test_a_form_of_another_site_does_nothing(deployment: Deployment, url: str) -> None:
    [memory] = add(deployment, "fog horns sleep")

    for origin in ([], [("Origin", "https://evil.example")], [("Origin", "null")]):
        answer = httpcore2.request("POST", f"{url}/pool/several/forget", headers=origin)
        assert answer.status == 403, origin

    assert deployment.client.memories.get(memory).answer == "fog horns sleep"


def test_a_page_says_that_the_connection_is_lost_and_goes_on_once_it_is_back(
    browser: Browser, deployment: Deployment
) -> None:
    with closing(Backend(deployment.settings)) as backend, looking(browser, expected=True) as watched:
        with served(backend) as address:
            page = watched.see("/now", address)
            expect(page.locator("#connection")).to_be_hidden()
        expect(page.locator("#connection")).to_contain_text("connection to memshare is lost", timeout=15_000)

        port = int(address.rpartition(":")[2])
        with served(backend, port):
            bury(deployment, "given-up-5", "It went wrong meanwhile.")
            expect(page.locator("#connection")).to_be_hidden(timeout=15_000)
            expect(page.get_by_text("It went wrong meanwhile.")).to_be_visible(timeout=15_000)
    deployment.client.dead_letters.drop(deployment.client.dead_letters.get("given-up-5"))


def test_every_number_of_now_leads_to_its_list(browser: Browser, url: str) -> None:
    with looking(browser) as watched:
        page = watched.see("/now", url)
        expect(page.locator(".figures")).to_contain_text("openai:scripted")
        for name, path in (("the latest journeys", "/"), ("dead letters", "/inbox?kind=dead%20letter")):
            page.get_by_role("link", name=name, exact=True).click()
            expect(page).to_have_url(url + path)
            page.go_back()


def test_a_worker_without_a_model_is_said_in_red(browser: Browser, deployment: Deployment, url: str) -> None:
    offline = Presence(node="offline@test", pid=1, incarnation="life", queues=("scorer",), scorer_model=OFFLINE)
    with connect(deployment.settings.redis) as client, looking(browser) as watched:
        announce(client, offline)
        page = watched.see("/now", url)

        told = page.locator(".figures .alarm dd").first
        expect(told).to_have_text("OFFLINE")
        expect(told).to_have_css("color", "rgb(179, 38, 30)")

        withdraw(client, offline)
