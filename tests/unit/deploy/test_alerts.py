"""The alert rules: each fires on bad numbers, and none on good ones."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.unit.deploy.chart import ALL_ON, DEPLOY, of_kind
from tests.unit.deploy.queries import ALERTS, queries, read_by, rules

CASES = Path(__file__).parent / "alerts_test.yml"
needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not on the PATH")


def promtool(*arguments: str | Path, folder: Path) -> str:
    """What promtool says; fails when it finds a fault."""
    done = subprocess.run(["promtool", *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_alerts_that_were_asked_for_are_there() -> None:
    assert {rule["alert"] for rule in rules()} >= {
        "MemshareQueueOld",
        "MemshareDeadLetters",
        "MemshareAcceptanceCollapse",
        "MemshareNoLesson",
        "MemshareCapNear",
    }


def test_every_alert_says_what_is_wrong_and_what_to_do() -> None:
    for rule in rules():
        assert set(rule["annotations"]) == {"summary", "action"}, rule["alert"]
        assert rule["labels"]["severity"] in ("warning", "critical")


@pytest.mark.parametrize("name", [name for name in queries() if name.startswith("alert ")])
def test_the_expression_of_an_alert_is_promql(name: str) -> None:
    assert read_by(queries()[name])


def test_the_rules_of_a_release_miss_its_own_exporter_whoever_else_is_scraped() -> None:
    exporter = of_kind(ALL_ON, "Service")["metrics"]["metadata"]
    [group] = of_kind(ALL_ON, "PrometheusRule")[""]["spec"]["groups"]
    [away] = [rule["expr"] for rule in group["rules"] if rule["alert"] == "MemshareRedisAway"]

    assert f'absent(memshare_up{{namespace="agents",job="{exporter["name"]}"}})' in away
    assert read_by(away) == {"memshare_up": {"namespace", "job"}}


@needs_promtool
def test_promtool_takes_the_rules_and_the_configuration() -> None:
    assert f"{len(rules())} rules found" in promtool("check", "rules", ALERTS, folder=ALERTS.parent)
    assert "SUCCESS" in promtool("check", "config", DEPLOY / "prometheus" / "prometheus.yml", folder=ALERTS.parent)


@needs_promtool
def test_each_alert_fires_on_bad_numbers_and_stays_quiet_on_good_ones(tmp_path: Path) -> None:
    bare = yaml.safe_load(ALERTS.read_text())
    for group in bare["groups"]:
        for rule in group["rules"]:
            del rule["annotations"]  # promtool compares them word for word
    (tmp_path / "alerts.yml").write_text(yaml.safe_dump(bare))
    shutil.copy(CASES, tmp_path)

    assert "SUCCESS" in promtool("test", "rules", CASES.name, folder=tmp_path)


def test_the_cases_try_every_alert_both_ways() -> None:
    tried = [case for test in yaml.safe_load(CASES.read_text())["tests"] for case in test["alert_rule_test"]]
    names = {rule["alert"] for rule in rules()}

    assert {case["alertname"] for case in tried if case.get("exp_alerts")} == names
    assert {case["alertname"] for case in tried if not case.get("exp_alerts")} == names
