"""The pictures of the page for people, as docs/pictures has them: real workers, and a model that follows a script."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from memshare.operations.backend import Backend
from memshare_broker.connection import connect
from memshare_broker.delivery.dead_letters import letter_for
from memshare_broker.delivery.schema import Entry
from memshare_broker.errors import GiveUp
from memshare_broker.settings import Settings
from memshare_broker.wire.lessons import Compared
from memshare_broker.wire.messages import Usage
from memshare_concepts.flashcards import flashcard_memories
from memshare_memory.contradictions import Conflicts
from memshare_memory.curate.requests import NewMemory
from memshare_scorer.rubric import Bands, Criterion, Rubric
from memshare_scorer.rubric_file import (
    Draft,
    DraftedCriterion,
    Drafting,
    DraftJudgement,
    Merged,
    MergedCriterion,
    write,
    write_drafting,
)
from tests.browser.people import PHONE, looking
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.deployment import Deployment, deployed, empty
from tests.support.grades import ranges
from tests.support.served import served

QUEUES = ("poem", "plan", "logic", "scorer", "memory")
PLACES = ("Porto", "Ghent", "Leeds", "Bergen", "Lyon", "Turin", "Split", "Bremen", "Oulu", "Cork")
RIDES = (
    ("go to the water", 0.8),
    ("a bus goes to the water", 0.84),
    ("the tram goes to the water", 0.88),
    ("the old tram 18 goes to the water", 0.93),
)
"""What a plan says after so many examples, and which share of the points it gets."""
POOR = "The ferry leaves every hour. Ask there."
FERRY = "The first ferry to Norderney leaves at 06:15 from Norddeich, and it takes dogs on a lead."
LATE = "The first ferry to Norderney leaves at 08:00; before that there is none."
WISHES = {
    "walkable_days": (
        40,
        "Each day keeps to one part of the town.",
        [1, 2],
        "Both have it; the first says how.",
    ),
    "for_children": (35, "A pram gets everywhere, and there is a place to play.", [2], "Only the second thinks of it."),
    "honest_times": (25, "Opening times and rides are real.", [1], "What is wrong here spoils a day."),
}
DRAFTS = [
    {"walkable_days": "Few changes of place.", "honest_times": "Times are real.", "style": "It reads well."},
    {"walkable_days": "Short ways.", "for_children": "Prams, and playgrounds."},
]
JUDGED = [
    ("It can be checked.", "Style helps nobody on the way."),
    ("It knows who travels.", "No times."),
]
LIMERICK = (
    "A keeper who lived by the sea\nhung lamps in the top of a tree;\nthe ships sailed inland\nand ran onto sand,\n"
    "and now he serves sailors their tea."
)
NOTHING_WITHHELD = "e62342e7-f89b-5135-98d5-fc8ce3ec1d64"  # the id of a task: the draw depends on it alone


def said(body: dict[str, Any]) -> Answer:
    """Answers that are better with an example, and a grade that says so."""
    turns = body["messages"]
    asked = turns[-1]["content"]
    if "response_format" in body:
        text = json.dumps(turns)
        share = 0.42 if POOR[:20] in text else next((share for ride, share in RIDES if ride in text), 0.84)
        share += (len(text) % 5 - 2) / 100
        found = ranges(body, share) or {}
        for place, one in enumerate(found.values()):
            one["low"] *= 0.9 + 0.02 * (place % 5)
            one["high"] = min(one["high"] * (1.04 + 0.02 * (place % 3)), one["high"] / share)
        return Answer(text=json.dumps(found))
    if "ferry" in asked:
        return Answer(text=next((turn["content"] for turn in turns if POOR in turn["content"]), FERRY))
    if "limerick" in asked:
        return Answer(text=LIMERICK)
    examples = sum(turn["role"] == "assistant" for turn in turns)
    city = asked.split(" in ")[-1].rstrip(".")
    ride = RIDES[min(examples, len(RIDES) - 1)][0]
    return Answer(text=f"Day one in {city}: the old town on foot, lunch at the market. Day two: {ride}.", delay=0.2)


@pytest.fixture(scope="module")
def deployment(redis_folder: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    empty(redis_folder)
    agents = tmp_path_factory.mktemp("agents")
    settings = Settings(data=redis_folder, model="openai:scripted", agents_dir=agents)
    logs = tmp_path_factory.mktemp("logs")
    more = {"MEMSHARE_WITHHOLD": "0.4", "MEMSHARE_AGENTS_DIR": str(agents)}
    with serving(said) as chat, deployed(settings, chat, logs, [QUEUES], **more) as running:
        for place in (*PLACES, *reversed(PLACES)):
            for number in range(3):
                prompt = f"{('Two days', 'A weekend', 'Two days with a pram')[number]} in {place}."
                memories = 0 if number == 1 and place < "F" else None
                running.settled(running.client.submit("plan", prompt, kind="travel", memories=memories).id)
        running.settled(running.client.submit("poem", "A limerick about a lighthouse", kind="limerick").id)
        decide_on(running)
        yield running


def draft(deployment: Deployment) -> None:
    """A rubric as a model drafts one."""
    assert deployment.settings.agents_dir is not None
    file = deployment.settings.agents_dir / "family.rubric.toml"
    chosen = [Criterion(name=name, points=one[0], description=one[1]) for name, one in WISHES.items()]
    rubric = Rubric(domain="Two days in a town for a family with small children", criteria=tuple(chosen))
    drafts = [
        Draft(criteria=[DraftedCriterion(name=name, points=30, description=text) for name, text in one.items()])
        for one in DRAFTS
    ]
    judged = [DraftJudgement(draft=number, keeps=keeps, lacks=lacks) for number, (keeps, lacks) in enumerate(JUDGED, 1)]
    bands = Bands(full="All of it.", most="Most of it.", part="Some of it.", none="None of it.")
    taken = [
        MergedCriterion(taken_from=source, why=why, name=name, points=points, description=text, bands=bands)
        for name, (points, text, source, why) in WISHES.items()
    ]
    merged = Merged(judgements=judged, criteria=taken)
    write(rubric, file)
    write_drafting(Drafting(domain=rubric.domain, version=rubric.version, drafts=drafts, merged=merged), file)


def decide_on(deployment: Deployment) -> None:
    """A contradiction and a dead letter, for somebody to decide on."""
    ferries = [
        NewMemory(pool="logic", prompt="When does the first ferry to Norderney leave?", answer=FERRY, new_pool=True),
        NewMemory(pool="logic", prompt="Is there an early ferry to Norderney?", answer=LATE, submitter="harbour-bot"),
    ]
    one, other = deployment.client.memories.add(ferries)
    claims = "One says that a ferry leaves at 06:15, the other that none leaves before 08:00."
    compared = Compared(memory_id=one, contradicted={other: claims}, compared=1, model="scripted", usage=Usage())
    with connect(deployment.settings.redis) as client:
        Conflicts(client).note("logic", compared, [other])
    body = {"prompt": "A sonnet about all of Proust, quoted whole"}
    entry = Entry(
        id="proust", task="agents.poem", queue="poem", body=body, journey="proust", stage="answer", begins=True
    )
    error = GiveUp("openai:scripted takes 128,000 tokens at most, and the prompt has 1,310,422.", "too long")
    deployment.client.dead_letters.add(letter_for(entry, error, tries=1))


@pytest.fixture(scope="module")
def url(deployment: Deployment) -> Iterator[str]:
    with closing(Backend(deployment.settings)) as backend, served(backend) as address:
        yield address


@pytest.fixture(scope="module")
def misled(deployment: Deployment) -> str:
    """The journey of an answer that followed a poor memory."""
    poor = NewMemory(pool="logic", prompt="When does the ferry leave?", answer=POOR, submitter="harbour-bot")
    deployment.client.memories.add([poor])
    task = {"prompt": "When does the ferry to Juist leave on a Sunday?"}
    deployment.client.submit_task("logic", task, task_id=NOTHING_WITHHELD)
    deployment.settled(NOTHING_WITHHELD)
    return NOTHING_WITHHELD


def test_a_journey_shows_why_the_answer_is_as_it_is(
    browser: Browser, url: str, misled: str, keep: Callable[[Page, str], None]
) -> None:
    with looking(browser) as watched:
        page = watched.see(f"/journeys/{misled}", url)
        page.set_viewport_size({"width": 1280, "height": 1080})
        expect(page.locator("article.followed")).to_contain_text(POOR)
        keep(page, "page-journey")
    with looking(browser, viewport=PHONE, color_scheme="dark", device_scale_factor=2) as watched:
        page = watched.see(f"/journeys/{misled}", url)
        page.locator("#grade").evaluate("one => one.scrollIntoView()")
        keep(page, "page-phone")


def test_the_other_screens_show_what_there_is(
    browser: Browser, url: str, misled: str, keep: Callable[[Page, str], None]
) -> None:
    assert misled
    with looking(browser) as watched:
        page = watched.see("/inbox", url)
        expect(page.locator(".item")).to_have_count(2)
        keep(page, "page-inbox")
        page = watched.see("/pool?q=a+town+by+the+water&pool=plan", url)
        page.get_by_text("less near than").click()
        expect(page.locator("#found tbody tr").nth(5)).to_be_visible()
        keep(page, "page-pool")
        page = watched.see("/worth", url)  # its picture is of what `memshare demo` leaves: here it is too early
        expect(page.locator("#chart canvas")).to_be_visible()
        page = watched.see("/now", url)
        expect(page.locator(".figures")).to_contain_text("openai:scripted")
        keep(page, "page-now")


def test_a_rubric_is_tried_and_a_pool_is_drawn(
    browser: Browser, deployment: Deployment, url: str, keep: Callable[[Page, str], None]
) -> None:
    draft(deployment)
    deployment.client.memories.restore(flashcard_memories("cards", 200))
    with looking(browser) as watched:
        page = watched.see("/rubrics/family", url)
        page.set_viewport_size({"width": 1280, "height": 1180})
        page.get_by_label("Answers of").select_option("plan")
        page.get_by_role("button", name="Grade its last ten by this rubric").click()
        expect(page.locator("#live tbody tr td:nth-child(4)")).to_have_text(
            [re.compile(r"[+-]\d")] * 10, timeout=30_000
        )
        page.evaluate("scrollTo(0, 0)")
        keep(page, "page-rubric")
        page = watched.see("/map?pool=cards", url)
        page.set_viewport_size({"width": 1280, "height": 900})
        expect(page.locator(".tiles article").first).to_be_visible()
        keep(page, "page-map")
