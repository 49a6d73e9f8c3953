"""The chart by Helm's own program, as who installs it runs it: linted, rendered and packaged."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path

import pytest
import yaml

from tests.unit.deploy.chart import CHART, PRODUCTION, Object, objects

HELM = Path(sysconfig.get_path("scripts")) / "helm"  # of the package helm-binary
FILES = {"defaults": [], "production": ["--values", str(PRODUCTION)]}


def helm(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([HELM, *words], capture_output=True, text=True, timeout=60)


def rendered(chart: Path, *options: str) -> list[Object]:
    done = helm("template", "demo", chart, "--namespace", "agents", *options)
    assert done.returncode == 0, done.stderr
    return [one for one in yaml.safe_load_all(done.stdout) if one]


@pytest.mark.parametrize("values", FILES)
def test_helm_finds_nothing_to_warn_of(values: str) -> None:
    done = helm("lint", "--strict", CHART, *FILES[values])

    assert done.returncode == 0, done.stdout
    assert "[WARNING]" not in done.stdout


@pytest.mark.parametrize("values", FILES)
def test_helm_renders_what_the_other_tests_of_the_chart_look_at(values: str) -> None:
    def named(found: list[Object]) -> set[tuple[str, str]]:
        return {(one["kind"], one["metadata"]["name"]) for one in found}

    looked_at = objects(yaml.safe_load(PRODUCTION.read_text()) if values == "production" else {})

    assert named(rendered(CHART, *FILES[values])) == named(looked_at)
    assert len(looked_at) > 20


def test_helm_refuses_a_value_that_the_schema_has_not() -> None:
    done = helm("template", "demo", CHART, "--set", "agnets.poem.replicas=1")

    assert done.returncode != 0
    assert "agnets" in done.stderr


def test_a_package_renders_as_the_folder_does(tmp_path: Path) -> None:
    assert helm("package", CHART, "--destination", tmp_path).returncode == 0
    [archive] = tmp_path.glob("memshare-*.tgz")

    assert rendered(archive, *FILES["production"]) == rendered(CHART, *FILES["production"])


def test_the_chart_has_no_symbolic_links() -> None:
    assert [one for one in CHART.rglob("*") if one.is_symlink()] == []


def test_the_production_file_asks_for_all_that_it_names() -> None:
    kinds = [one["kind"] for one in rendered(CHART, *FILES["production"])]

    assert {"ScaledObject", "NetworkPolicy", "Ingress", "ServiceMonitor", "PrometheusRule"} <= set(kinds)
    assert not {"StatefulSet", "Secret"} & set(kinds)  # its servers are elsewhere, and its secrets have names
