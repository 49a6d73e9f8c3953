"""The queries of the dashboard and of the alerts, and which metrics and labels they read."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import promql_parser as promql
import yaml

from tests.unit.deploy.chart import CHART

ALERTS = CHART / "files" / "alerts.yml"
DASHBOARD = CHART / "files" / "memshare.json"
TARGET = frozenset({"namespace", "job"})
"""Labels that Prometheus itself gives to every sample, by where it was scraped."""
Read = dict[str, set[str]]
"""Metric → labels that a query names with it."""


def dashboard() -> dict[str, Any]:
    return json.loads(DASHBOARD.read_text(encoding="utf-8"))


def panels() -> list[dict[str, Any]]:
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]


def queries() -> dict[str, str]:
    """Every query by where it stands, with Grafana's variables filled in."""
    found = {f"alert {rule['alert']}": rule["expr"] for rule in rules()}
    for panel in panels():
        for target in panel["targets"]:
            filled = re.sub(r"\$(namespace|job)\b", ".*", target["expr"].replace("$__rate_interval", "5m"))
            found[f"panel {panel['title']} {target['refId']}"] = filled
    return found


def shown_labels() -> dict[str, set[str]]:
    """The labels that a legend or an annotation shows, by the query's name in `queries`."""
    found = {
        f"alert {rule['alert']}": set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
        for rule in rules()
    }
    for panel in panels():
        for target in panel["targets"]:
            name = f"panel {panel['title']} {target['refId']}"
            found[name] = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
    return found


def read_by(expression: str) -> Read:
    """The metrics that a query reads with the labels it names; raises `ValueError` for a query that is none."""
    read: defaultdict[str, set[str]] = defaultdict(set)
    for metric, labels in _selectors(promql.parse(expression), frozenset()):
        read[metric] |= labels
    return dict(read)


def _selectors(node: Any, named: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """Each selector with the labels of its matchers and of the aggregations and joins around it."""
    match node:
        case promql.VectorSelector():
            yield node.name, named | {matcher.name for matcher in node.matchers.matchers} - {"__name__"}
        case promql.MatrixSelector():
            yield from _selectors(node.vector_selector, named)
        case promql.AggregateExpr():
            by = node.modifier.labels if node.modifier else []
            yield from _selectors(node.expr, named | set(by))
        case promql.BinaryExpr():
            matching = node.modifier.matching if node.modifier else None
            on = named | set(matching.labels if matching else [])
            yield from _selectors(node.lhs, on)
            yield from _selectors(node.rhs, on)
        case promql.Call():
            for argument in node.args:
                yield from _selectors(argument, named)
        case promql.ParenExpr() | promql.UnaryExpr() | promql.SubqueryExpr():
            yield from _selectors(node.expr, named)
