"""Every object of the chart is one that Kubernetes, KEDA and the Prometheus operator would take."""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import helm_python
import jsonschema
import kubernetes_validate
import pytest

from tests.unit.deploy.chart import ALL_ON, CHART, VARIANTS, objects, render

SCHEMAS = {
    schema["properties"]["kind"]["const"]: schema
    for file in sorted((Path(__file__).parent / "schemas").glob("*.json"))
    for schema in [json.loads(file.read_text())]
}
KUBERNETES = ("1.29", "1.37")  # the oldest that Chart.yaml takes, and the newest that the validator knows


def check(found: dict[str, Any]) -> None:
    """Raise for an object with a wrong or unknown field."""
    _check(json.dumps(found))


@cache
def _check(text: str) -> None:
    """Look once at an object that several variants have."""
    found = json.loads(text)
    if found["kind"] in SCHEMAS:
        jsonschema.validate(found, SCHEMAS[found["kind"]])
    else:
        for version in KUBERNETES:
            kubernetes_validate.validate(found, version, strict=True)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_object_fits_its_schema(variant: str) -> None:
    found = objects(VARIANTS[variant])

    assert len(found) > (3 if variant == "everything off" else 20)
    for one in found:
        check(one)


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_two_objects_have_one_name(variant: str) -> None:
    names = [(one["kind"], one["metadata"]["name"]) for one in objects(VARIANTS[variant])]

    assert len(set(names)) == len(names)


@pytest.mark.parametrize("variant", VARIANTS)
def test_helm_lints_the_chart_without_a_warning(variant: str) -> None:
    report = helm_python.lint(CHART, VARIANTS[variant], strict=True)

    assert report["errors"] == []
    assert [one for one in report["messages"] if one["severity"] > 1] == []


def test_every_kind_that_the_chart_can_make_is_checked_here() -> None:
    kinds = {one["kind"] for values in VARIANTS.values() for one in objects(values)}

    assert set(SCHEMAS) <= kinds
    assert kinds >= {"Deployment", "StatefulSet", "Service", "ConfigMap", "PodDisruptionBudget", "NetworkPolicy"}


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        ("Deployment", ("spec", "template", "spec")),
        ("ScaledObject", ("spec",)),
        ("TriggerAuthentication", ("spec",)),
        ("ServiceMonitor", ("spec",)),
        ("PodMonitor", ("spec",)),
        ("PrometheusRule", ("spec",)),
        ("NetworkPolicy", ("spec",)),
    ],
)
def test_a_misspelt_field_is_noticed(kind: str, place: tuple[str, ...]) -> None:
    one = next(found for found in objects(ALL_ON) if found["kind"] == kind)
    inner = one
    for name in place:
        inner = inner[name]
    inner["mispelt"] = 1

    with pytest.raises((jsonschema.ValidationError, kubernetes_validate.ValidationError)):
        check(one)


def test_a_broken_template_is_noticed(tmp_path: Path) -> None:
    copy = shutil.copytree(CHART, tmp_path / "memshare")
    template = copy / "templates" / "workers.yaml"
    template.write_text(template.read_text().replace("$own.concurrency", "$own.concurency | required"))

    with pytest.raises(helm_python.HelmError):
        render({}, copy)


def test_a_long_release_name_fits_into_every_name() -> None:
    for one in objects({}, name="a" * 53):
        assert len(one["metadata"]["name"]) <= 63, one["metadata"]["name"]


def test_a_packaged_chart_carries_the_dashboard_and_the_alerts_themselves(tmp_path: Path) -> None:
    archive = Path(helm_python.package(CHART, destination=tmp_path))

    assert render(ALL_ON, archive) == render(ALL_ON)
    assert "MemshareQueueOld" in render(ALL_ON, archive)["memshare/templates/monitoring.yaml"]
