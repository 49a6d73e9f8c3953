"""The dashboard: readable, and each of its queries asks for a metric that there is, with labels that it has."""

from __future__ import annotations

import itertools
import re

import pytest

from memshare_broker.observe.metrics import COUNTED
from tests.unit.deploy.queries import TARGET, dashboard, panels, queries, read_by, shown_labels

NOT_COUNTED = {
    "memshare_up": set(),
    "memshare_redis_memory_used_ratio": set(),
    "memshare_workers": {"queue"},
    "memshare_queue_open": {"queue"},
    "memshare_queue_waiting": {"queue"},
    "memshare_queue_parked": {"queue"},
    "memshare_queue_oldest_seconds": {"queue"},
    "memshare_failed_tries_total": {"reason"},
    "memshare_dead_letters": {"reason"},
    "memshare_pool_memories": {"pool", "status"},
    "memshare_retriever_version": {"pool"},
    "memshare_retriever_accuracy": {"pool"},
    "memshare_credibility": {"pool", "quantile"},
    "memshare_cap_used_ratio": {"holder", "name", "unit"},
    "memshare_model_misfits": {"model", "lane", "kind"},
    "memshare_model_server_limit": {"server"},
    "memshare_model_server_calls": {"server"},
    "memshare_model_server_waiting": {"server"},
    "memshare_worker_running_tasks": set(),
    "memshare_worker_concurrency": set(),
}


def known() -> dict[str, set[str]]:
    """Every sample that is exported, with its labels."""
    found: dict[str, set[str]] = {name: set(labels) for name, labels in NOT_COUNTED.items()}
    for metric in COUNTED.values():
        if metric.buckets:
            for suffix in ("_bucket", "_sum", "_count"):
                found[metric.name + suffix] = {*metric.labels, *(["le"] if suffix == "_bucket" else [])}
        else:
            found[metric.name] = set(metric.labels)
    return found


@pytest.mark.parametrize("name", queries())
def test_a_query_reads_only_metrics_and_labels_that_there_are(name: str) -> None:
    metrics = known()
    read = read_by(queries()[name])

    assert read
    for metric, labels in read.items():
        assert metric in metrics, metric
        assert labels <= metrics[metric] | TARGET, labels - metrics[metric]
    assert shown_labels()[name] <= set().union(*(metrics[metric] for metric in read))


def test_a_query_of_a_metric_that_there_is_not_is_noticed() -> None:
    read = read_by('sum by (agent, colour) (rate(memshare_graded_total{size="1"}[5m])) / on (pool) memshare_nothing')

    assert read == {"memshare_graded_total": {"agent", "colour", "size", "pool"}, "memshare_nothing": {"pool"}}
    assert not read["memshare_graded_total"] <= known()["memshare_graded_total"]


def test_panels_do_not_overlap_and_fill_their_rows() -> None:
    places = [panel["gridPos"] for panel in dashboard()["panels"]]
    for one, other in itertools.combinations(places, 2):
        apart = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        above = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert apart or above, (one, other)
    for top in {place["y"] for place in places}:
        assert sum(place["w"] for place in places if place["y"] == top) == 24


def test_a_panel_has_a_title_a_unit_and_the_dashboards_data_source() -> None:
    assert 12 <= len(panels()) <= 16
    assert len({panel["title"] for panel in panels()}) == len(panels())
    assert len({panel["id"] for panel in dashboard()["panels"]}) == len(dashboard()["panels"])
    for panel in panels():
        assert panel["datasource"]["uid"] == "${datasource}"
        for target in panel["targets"]:
            assert target["datasource"] == panel["datasource"]
            assert panel["type"] in ("table", "heatmap") or panel["fieldConfig"]["defaults"]["unit"]


def test_the_data_source_and_the_release_are_variables_of_the_dashboard() -> None:
    variables = {one["name"]: one for one in dashboard()["templating"]["list"]}

    assert [name for name, one in variables.items() if one["type"] == "datasource"] == ["datasource"]
    assert set(variables) - {"datasource"} == TARGET
    for name in TARGET:
        assert variables[name]["allValue"] == ".*"  # also what has no namespace, under compose


def test_every_panel_shows_the_chosen_release_alone() -> None:
    for panel in panels():
        for target in panel["targets"]:
            metrics = set(re.findall(r"memshare_\w+", target["expr"]))
            of_workers = metrics <= {"memshare_worker_running_tasks", "memshare_worker_concurrency"}
            for chosen in ("namespace",) if of_workers else TARGET:  # workers are scraped by another job
                assert target["expr"].count(f'{chosen}=~"${chosen}"') == len(re.findall("memshare_", target["expr"]))
