"""Flower as a person sees it, in a headless Chromium, after a run of `memshare up`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.worked import END, KEY, WORKERS, Worked, up, work
from tests.support.deployment import wait_for

STAGES = ("agents.poem", "agents.logic", "agents.plan", "scorer.score", "memory_service.settle",
          "retriever_trainer.learn")  # fmt: skip
ROWS = "#tasks-table tbody tr"
SEEN_WITHIN = 20  # seconds


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worked]:
    data = tmp_path_factory.mktemp("flower")
    with up(data) as flower:
        yield work(data, flower)


def test_the_tasks_page_names_every_stage(page: Page, worked: Worked, keep: Callable[[Page, str], None]) -> None:
    page.set_viewport_size({"width": 1480, "height": 800})  # whole names of workers
    page.goto(f"{worked.flower}/tasks")
    expect(page.locator(ROWS).first).to_be_visible()
    keep(page, "flower")

    for name in STAGES:
        page.get_by_placeholder("state:FAILURE").fill(name)
        rows = page.locator(ROWS).filter(has_text=name)
        expect(rows.filter(has_text="SUCCESS").first).to_be_visible()
        expect(page.locator(ROWS).filter(has_not_text=name)).to_have_count(0)


def test_a_task_page_shows_arguments_and_result_shortened_and_without_a_key(page: Page, worked: Worked) -> None:
    def ended() -> str | None:
        page.goto(f"{worked.flower}/task/{worked.long}")
        text = page.locator("body").inner_text()
        return text if "SUCCESS" in text else None

    text = wait_for(ended, SEEN_WITHIN, "Flower to see the task's end")
    arguments, result = (text.split(f"\n{name}\n")[1].split("\n")[0] for name in ("Arguments", "Result"))
    assert "A limerick about a lighthouse" in arguments
    assert worked.long in result
    assert "'answer'" in result
    assert arguments.endswith("…")
    assert len(arguments) < 200
    assert len(result) < 200
    assert END not in page.content()
    assert KEY not in page.content()


@pytest.mark.parametrize("state", ["RECEIVED", "STARTED"])
def test_no_task_that_has_ended_is_shown_as_if_it_ran(state: str, page: Page, worked: Worked) -> None:
    def none_left() -> bool:
        page.goto(f"{worked.flower}/tasks")
        page.get_by_placeholder("state:FAILURE").fill(f"state:{state}")
        expect(page.get_by_text("filtered from")).to_be_visible()
        return page.get_by_text("No tasks match your search.").is_visible()

    wait_for(none_left, SEEN_WITHIN, f"no task to be {state}")


def test_the_workers_page_shows_every_worker_online_and_nothing_failed(page: Page, worked: Worked) -> None:
    page.goto(f"{worked.flower}/workers")

    rows = page.locator("#workers-table tbody tr")
    expect(rows).to_have_count(len(WORKERS))
    processed = 0
    for name in WORKERS:
        row = rows.filter(has_text=name)
        expect(row).to_contain_text("Online")
        processed += int(row.locator("td").nth(3).inner_text())
        assert row.locator("td").nth(4).inner_text() == "0"
    assert processed >= 3 * len(worked.played)  # answered, graded and settled
    assert not any(task.fault for task in worked.played)


@pytest.mark.parametrize("path", ["/", "/tasks", "/broker"])
def test_every_page_of_flower_opens(path: str, page: Page, worked: Worked) -> None:
    response = page.goto(f"{worked.flower}{path}")

    assert response is not None
    assert response.ok
    expect(page.get_by_role("link", name="Tasks", exact=True)).to_be_visible()
