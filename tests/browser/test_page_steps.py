"""What a page shows and does that is rarer: the steps of a run, an end, a second try, an earlier retriever."""

from __future__ import annotations

import json
import re
import time
from datetime import UTC, datetime
from functools import partial
from importlib.resources import files
from typing import Any, Literal
from uuid import UUID, uuid4

import pytest
from playwright.sync_api import Browser, expect

from memshare.doors.pages.routes import FILES
from memshare_broker.connection import connect
from memshare_broker.delivery.dead_letters import letter_for
from memshare_broker.delivery.schema import Entry
from memshare_broker.errors import GiveUp
from memshare_broker.wire.lessons import LessonTask
from memshare_broker.wire.messages import AgentTask, Answer, Step, Usage
from memshare_memory.encoders.encoder import ENCODER as IN_USE
from memshare_trainer.consolidation.consolidation_state import Trial, tried
from memshare_trainer.learn import LearnStage
from memshare_trainer.lesson import Figure
from tests.browser.people import DESK, HOSTILE, PHONE, bury, looking, require_harmless, require_readable
from tests.support.deployment import Deployment
from tests.support.lessons import ENCODER, FormLabeller, lesson

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def step(number: int, parent: int | None, operator: str, depth: int, **more: Any) -> Step:
    used = Usage(prompt_tokens=10, completion_tokens=2)
    return Step(
        number=number, parent=parent, depth=depth, operator=operator, arguments=f'{{"question": "{MARKED}"}}',
        said=f"{HOSTILE} {number}", model="openai:scripted", usage=used, **more,
    )  # fmt: skip


MARKED = "<script>alert(3)</script>"
STEPS = (
    step(1, None, "coordinate", 0),
    step(2, 1, "search", 1, read=(f"{HOSTILE} a page",), left_out=(f"{HOSTILE} another",), knowledge=(UUID(int=1),)),
    step(3, 1, "coordinate", 1),
    step(4, 3, "respond", 2),
    step(5, None, "discriminate", 0, verified=True),
)


@pytest.fixture(scope="module")
def reasoned(deployment: Deployment) -> str:
    """A journey that was answered in steps, as the reasoning agent records it."""
    journey = str(uuid4())
    entry = Entry(
        id=journey, task="agents.reasoning", queue="reasoning", journey=journey, stage="answer", begins=True,
        body=AgentTask(prompt=HOSTILE, kind="complex").model_dump(mode="json", exclude_none=True),
    )  # fmt: skip
    answer = Answer(
        task_id=journey, agent="reasoning", kind="complex", answer=HOSTILE, model="openai:scripted", memories=(),
        retriever_version=0, usage=Usage(prompt_tokens=50), seconds=1.0, steps=STEPS,
    )  # fmt: skip
    deployment.client.ledger.open(entry)
    deployment.client.ledger.commit(entry, answer.model_dump(mode="json"))
    return journey


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_the_steps_of_a_run_are_a_tree_that_everybody_can_read(
    browser: Browser, url: str, reasoned: str, size: dict[str, int]
) -> None:
    with looking(browser, viewport=size) as watched:
        page = watched.see(f"/journeys/{reasoned}", url)
        expect(page.locator(".tree .tree .tree summary")).to_contain_text("4 respond")
        page.evaluate("document.querySelectorAll('.tree details').forEach(one => one.open = true)")
        expect(page.locator(".tree dd").filter(has_text="a page")).to_be_visible()
        expect(page.get_by_text("verified", exact=True)).to_be_visible()
        expect(page.get_by_text("As it was sent")).to_have_count(0)
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            require_readable(page)
        assert MARKED in page.locator("main").inner_text()
        require_harmless(page)


def test_a_task_that_waits_is_cancelled(browser: Browser, deployment: Deployment, url: str) -> None:
    task = deployment.client.submit("plan", "Two days in Rome", kind="travel").id  # no worker has this agent

    with looking(browser) as watched:
        page = watched.see(f"/journeys/{task}", url)
        page.get_by_role("button", name="Cancel").click()
        expect(page.get_by_text("The task was cancelled.")).to_be_visible()
        expect(page.locator(".hops")).to_contain_text("cancelled")
        expect(page.get_by_role("button", name="Cancel")).to_have_count(0)

    assert deployment.client.journey(task).state == "cancelled"


def test_what_was_given_up_is_tried_again_and_ends(browser: Browser, deployment: Deployment, url: str) -> None:
    task = str(uuid4())
    entry = Entry(
        id=task, task="agents.logic", queue="logic", journey=task, stage="answer", begins=True,
        body={"prompt": "What was given up?", "kind": "riddle"},
    )  # fmt: skip
    deployment.client.ledger.open(entry)
    deployment.client.dead_letters.add(letter_for(entry, GiveUp("The model refused it."), tries=1))

    with looking(browser) as watched:
        page = watched.see(f"/journeys/{task}", url)
        expect(page.get_by_text("It was given up: The model refused it.")).to_be_visible()
        page.get_by_role("button", name="Try the failed step again").click()
        expect(page.locator(".total")).to_contain_text("of 100", timeout=30_000)
        expect(page.get_by_role("button", name="Try the failed step again")).to_have_count(0)

    assert deployment.settled(task).answer is not None


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_the_chart_tells_the_values_under_the_pointer(
    browser: Browser, deployment: Deployment, url: str, size: dict[str, int]
) -> None:
    graded = deployment.settled(deployment.client.submit("logic", "What has a face?", kind="riddle").id)
    assert graded.score is not None

    with looking(browser, viewport=size) as watched:
        page = watched.see("/worth", url)
        plot, legend = page.locator("#chart .u-over"), page.locator("#chart .u-legend")
        expect(plot).to_be_visible()
        box = plot.bounding_box()
        assert box is not None
        plot.hover(position={"x": box["width"] - 20, "y": 40})
        expect(legend).to_contain_text(re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d"))
        expect(legend).to_contain_text(f"{graded.score.total:.1f}")
        page.get_by_role("navigation", name="Range of time").get_by_role("link", name="a day").click()
        expect(page).to_have_url(re.compile(r"days=1"))
        expect(plot).to_be_visible()


@pytest.mark.parametrize("seconds", [[0], [0, 1, 50_000, 50_001]], ids=["one", "over a night"])
def test_the_chart_has_its_tasks_in_their_order_and_tells_right_answers_apart(
    browser: Browser, seconds: list[int]
) -> None:
    page, began = browser.new_page(), 1_790_000_000
    none, scores = [None] * len(seconds), [0, 100, 50, 100][: len(seconds)]
    points = json.dumps([[began + each for each in seconds], scores, none, none, none])
    page.set_content(f'<div id="chart" data-points="{points}"></div>')
    for name in ("/pages/uplot.js", "/pages/chart.js"):
        package, file = FILES[name]
        page.add_script_tag(path=str(files(package) / file))

    last, (low, high) = len(seconds), page.evaluate("[chart.scales.x.min, chart.scales.x.max]")
    assert page.evaluate("[...chart.data[0]]") == [*range(1, last + 1)]
    assert -1 < low < 0.5 < last + 0.5 < high < last + 2, "room for whole dots"
    assert all(page.evaluate("chart.axes.map((one) => one.label)"))
    drawn = page.evaluate("chart.data[1]")
    assert [abs(drawn[at] - score) <= 6 for at, score in enumerate(scores)] == [True] * last
    assert len({*drawn}) == last, "two right answers lie side by side"
    page.evaluate(f"chart.setLegend({{ idx: {last - 1} }})")
    told = page.locator(".u-legend").inner_text()
    assert f"{last}, {datetime.fromtimestamp(began + seconds[-1], UTC):%Y-%m-%d %H:%M:%S}" in told
    assert f"{scores[-1]:.1f}" in told
    page.close()


@pytest.mark.parametrize(("accepted", "said"), [(True, "would be accepted"), (False, "would be refused")])
def test_the_page_says_what_a_consolidation_would_bring(
    browser: Browser, deployment: Deployment, url: str, accepted: bool, said: str
) -> None:
    with connect(deployment.settings.redis) as client:
        tried(client, partial(trial, str(client.get(IN_USE)), accepted=accepted))

    with looking(browser) as watched:
        page = watched.see("/worth", url)
        card = page.locator("article", has_text="What a consolidation would bring")
        expect(card).to_contain_text(said)
        expect(card).to_contain_text("trained on 90 lessons and right answers, in 2 min")
        expect(card).to_contain_text("in 12 lessons held out")
        expect(card.locator("tbody tr").first).to_contain_text("0.610")
        expect(card.locator("tbody tr").first).to_contain_text("0.700")
        expect(card.locator("tbody tr").first).to_contain_text("± 0.020")


def test_a_trial_of_another_encoder_is_not_shown(browser: Browser, deployment: Deployment, url: str) -> None:
    with connect(deployment.settings.redis) as client:
        tried(client, partial(trial, "one that was in use before", accepted=True))

    with looking(browser) as watched:
        page = watched.see("/worth", url)
        expect(page.get_by_role("button", name="Try what it would bring")).to_be_visible()
        expect(page.get_by_text("What a consolidation would bring")).to_have_count(0)


def trial(encoder: str, *, accepted: bool) -> Trial:
    better = Figure(before=0.61, after=0.70, error=0.02)
    return Trial(
        at=time.time(), seconds=130, encoder=encoder, pools=("taught",), lessons=90, held_out=12, memories=7,
        accepted=accepted, first_helps=better, held_out_ndcg=better, probe_ndcg=better,
    )  # fmt: skip


def test_an_earlier_retriever_is_used_again_and_that_is_undone(
    browser: Browser, deployment: Deployment, url: str
) -> None:
    with connect(deployment.settings.redis) as client:
        encoder = str(client.get(IN_USE))
        stage = LearnStage(client, FormLabeller(), kept=2_000, keep_days=1)  # type: ignore[arg-type]
        for number in range(45):
            told = lesson(number, "taught").model_dump_json().replace(ENCODER, encoder)
            stage.run(f"taught {number}", LessonTask.model_validate_json(told))

    with looking(browser) as watched:
        page = watched.see("/worth", url)
        pool = page.locator("article", has_text="pool taught")
        newest = pool.locator(".chip.good").locator("xpath=ancestor::tr").locator("td").first.inner_text()
        pool.get_by_role("button", name="Use version").first.click()
        expect(page.locator(".notice.good")).to_contain_text(f"before: {newest}")
        expect(pool).not_to_contain_text(f"version {newest} in use")
        page.get_by_role("button", name="Undo").click()
        expect(pool).to_contain_text(f"version {newest} in use")


def test_now_shows_the_last_error_of_a_kind_whole_enough_to_read_and_leads_to_all(
    browser: Browser, deployment: Deployment, url: str
) -> None:
    for at in range(7):
        bury(deployment, f"long-{at}", f"Error {at}: {'x' * 1_000}")

    with looking(browser, viewport=PHONE) as watched:
        page = watched.see("/now", url)
        listed = page.locator("#errors ~ ul li").first
        expect(listed).to_contain_text("Error 6: xxx")
        expect(listed).to_contain_text("refused 7")
        require_readable(page)
        page.get_by_role("link", name="dead letters").click()
        expect(page.locator(".item")).to_have_count(1)
        expect(page.get_by_role("heading", name="7 tasks were given up")).to_be_visible()
        page.get_by_text("6 more of the same reason").click()
        expect(page.get_by_text("Error 6: xxx")).to_be_visible()
        require_readable(page)
        page.get_by_text("Drop all 7 …").click()
        page.get_by_role("button", name="Drop all 7").click()
        expect(page.get_by_text("Dropped: 7 dead letters.")).to_be_visible()
    assert not any(f"long-{at}" in deployment.client.dead_letters for at in range(7))
