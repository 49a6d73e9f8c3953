"""A whole run of `memshare up`, as Flower shows it in a headless Chromium, and as Prometheus has watched it."""

from __future__ import annotations

import shutil
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.worked import END, KEY, WORKERS, Worked, free_port, free_ports, running, up, work
from tests.support.deployment import wait_for
from tests.support.prometheus_server import Prometheus, prometheus
from tests.unit.deploy.queries import ALERTS, queries

STAGES = ("agents.poem", "agents.logic", "agents.plan", "scorer.score", "memory_service.settle",
          "retriever_trainer.learn")  # fmt: skip
ROWS = "#tasks-table tbody tr"
SEEN_WITHIN, ANSWERED_WITHIN = 20, 30  # seconds
# Nothing failed, nothing has a price or a cap in this run, and no retriever was refused.
NOTHING_OF = ("memshare_dead_letters", "memshare_failed_tries", "memshare_model_money", "memshare_cap_used",
              "memshare_retriever_refused", "memshare_retriever_accuracy")  # fmt: skip


@contextmanager
def scraping(folder: Path, worker: int) -> Iterator[Prometheus]:
    """A Prometheus that scrapes the run of a folder, and the worker at a port."""
    shared = free_port()
    with (
        running("metrics", "--port", str(shared), MEMSHARE_DATA=str(folder)),
        prometheus(folder, ALERTS, own=free_port(), shared=shared, worker=worker) as made,
    ):

        def scraped() -> bool:
            try:
                return len(made.values("up == 1")) == 2
            except OSError:
                return False

        wait_for(scraped, ANSWERED_WITHIN, "Prometheus to scrape both")
        yield made


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Worked, Prometheus | None]]:
    """A run that was watched from its beginning to its end: by Flower, and by Prometheus where there is one."""
    data, worker = tmp_path_factory.mktemp("watched"), free_ports(len(WORKERS))
    with ExitStack() as there:
        flower = there.enter_context(up(data, MEMSHARE_METRICS_PORT=str(worker)))
        watching = there.enter_context(scraping(data, worker)) if shutil.which("prometheus") else None
        yield work(data, flower), watching


@pytest.fixture
def worked(watched: tuple[Worked, Prometheus | None]) -> Worked:
    return watched[0]


@pytest.fixture
def watching(watched: tuple[Worked, Prometheus | None]) -> Prometheus:
    if watched[1] is None:
        pytest.skip("there is no Prometheus on the PATH (apt install prometheus)")
    return watched[1]


def test_the_graph_page_shows_the_stages(page: Page, watching: Prometheus, keep: Callable[[Page, str], None]) -> None:
    query = queries()["panel Messages ended, by stage A"].replace("5m", "10s")
    words = {"g0.expr": query, "g0.tab": "0", "g0.range_input": "2m"}

    page.goto(f"{watching.url}/graph?{urllib.parse.urlencode(words)}")

    for stage in ("answer", "score", "settle", "learn"):
        expect(page.get_by_text(f'stage="{stage}"').first).to_be_visible()
    page.set_viewport_size({"width": 1280, "height": 920})  # the legend stands below
    keep(page, "prometheus")


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


@pytest.mark.parametrize("name", queries())
def test_prometheus_answers_every_query_of_the_dashboard_and_the_alerts(name: str, watching: Prometheus) -> None:
    query = queries()[name]

    if name.startswith("panel") and not any(metric in query for metric in NOTHING_OF):
        wait_for(lambda: watching.values(query), ANSWERED_WITHIN, f"an answer to {query}")
    else:
        watching.values(query)  # raises where it cannot be read


def test_no_alert_goes_off_in_a_run_in_which_nothing_fails(watching: Prometheus) -> None:
    groups = watching.ask("rules")["groups"]

    assert groups
    assert [rule["name"] for group in groups for rule in group["rules"] if rule["health"] == "err"] == []
    assert [alert for alert in watching.ask("alerts")["alerts"] if alert["state"] == "firing"] == []
