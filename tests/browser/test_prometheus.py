"""Prometheus reads what a real run exports, and answers every query of the dashboard and of the alerts."""

from __future__ import annotations

import shutil
import urllib.parse
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.worked import WORKERS, free_port, free_ports, running, up, work
from tests.support.deployment import wait_for
from tests.support.prometheus_server import Prometheus, prometheus
from tests.unit.deploy.queries import ALERTS, queries

ANSWERED_WITHIN = 30  # seconds
# Nothing failed, nothing has a price or a cap in this run, and no retriever was refused.
NOTHING_OF = ("memshare_dead_letters", "memshare_failed_tries", "memshare_model_money", "memshare_cap_used",
              "memshare_retriever_refused", "memshare_retriever_accuracy")  # fmt: skip


@pytest.fixture(scope="module")
def watching(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A Prometheus that has watched a run from its beginning to its end."""
    if not shutil.which("prometheus"):
        pytest.skip("there is no Prometheus on the PATH (apt install prometheus)")
    folder, shared, worker = tmp_path_factory.mktemp("prometheus"), free_port(), free_ports(len(WORKERS))
    with (
        up(folder, MEMSHARE_METRICS_PORT=str(worker)) as flower,
        running("metrics", "--port", str(shared), MEMSHARE_DATA=str(folder)),
        prometheus(folder, ALERTS, own=free_port(), shared=shared, worker=worker) as made,
    ):

        def scraped() -> bool:
            try:
                return len(made.values("up == 1")) == 2
            except OSError:
                return False

        wait_for(scraped, ANSWERED_WITHIN, "Prometheus to scrape both")
        work(folder, flower)
        yield made


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


def test_the_graph_page_shows_the_stages(page: Page, watching: Prometheus, keep: Callable[[Page, str], None]) -> None:
    query = queries()["panel Messages ended, by stage A"].replace("5m", "10s")
    words = {"g0.expr": query, "g0.tab": "0", "g0.range_input": "30s"}

    page.goto(f"{watching.url}/graph?{urllib.parse.urlencode(words)}")

    for stage in ("answer", "score", "settle", "learn"):
        expect(page.get_by_text(f'stage="{stage}"').first).to_be_visible()
    page.set_viewport_size({"width": 1280, "height": 920})  # the legend stands below
    keep(page, "prometheus")
