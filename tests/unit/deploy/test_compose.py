"""The compose file: a service for each queue, nothing open to the network, no password in the file."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from memshare_broker.settings import Settings
from tests.unit.deploy.chart import DEPLOY, QUEUES

COMPOSE = DEPLOY / "compose" / "compose.yaml"


def compose() -> dict[str, Any]:
    return yaml.safe_load(COMPOSE.read_text())


def services(profile: str = "embedded") -> dict[str, Any]:
    """What `docker compose up` starts with a profile."""
    return {name: one for name, one in compose()["services"].items() if profile in one.get("profiles", [profile])}


def workers(profile: str = "embedded") -> dict[str, Any]:
    """By their queues."""
    started = services(profile).values()
    return {one["command"][1]: one for one in started if one.get("command", [""])[0] == "worker"}


def check_schema(file: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(file)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_the_file_fits_the_compose_specification(tmp_path: Path) -> None:
    done = check_schema(COMPOSE)
    assert done.returncode == 0, done.stdout

    broken = compose()
    broken["services"]["poem"]["comand"] = ["worker"]
    (tmp_path / "broken.yaml").write_text(yaml.safe_dump(broken))
    assert check_schema(tmp_path / "broken.yaml").returncode == 1


def test_the_pool_is_embedded_unless_the_environment_says_otherwise() -> None:
    example = (COMPOSE.parent / ".env.example").read_text()
    [profile] = re.findall(r"^COMPOSE_PROFILES=(.*)$", example, re.M)
    profiles = {name for one in compose()["services"].values() for name in one.get("profiles", [])}

    assert (profile, profiles) == ("embedded", {"embedded", "qdrant"})
    assert "qdrant" not in services("embedded")
    assert "qdrant" in services("qdrant")


@pytest.mark.parametrize("queue", ["memory", "trainer"])
def test_an_embedded_pool_outlives_its_containers_and_is_the_same_for_both(queue: str) -> None:
    one = workers("embedded")[queue]

    assert "data:/data" in one["volumes"]
    assert not [mount for mount in one["tmpfs"] if mount.startswith("/data")]
    assert "data" in compose()["volumes"]
    assert "MEMSHARE_QDRANT_URL" not in one["environment"]


@pytest.mark.parametrize("profile", ["embedded", "qdrant"])
def test_every_queue_has_a_service_that_can_be_scaled(profile: str) -> None:
    started = [one for one in services(profile).values() if one.get("command", [""])[0] == "worker"]

    assert len(started) == len(QUEUES)
    assert set(workers(profile)) == QUEUES
    for name, one in workers(profile).items():
        reached = services(profile).keys() | set(one.get("networks", {}).get("default", {}).get("aliases", []))
        assert name in reached  # by this name others ask it, and Prometheus
        assert "container_name" not in one
        assert "ports" not in one or name == "memory"  # a second container could not have the same one


def test_a_worker_may_finish_before_it_is_killed() -> None:
    grace = Settings.model_fields["grace"].default
    for one in workers().values():
        assert int(one["stop_grace_period"].removesuffix("s")) >= grace + 15


def test_only_this_machine_reaches_the_published_ports() -> None:
    published = [port for one in compose()["services"].values() for port in one.get("ports", [])]

    assert {port.rsplit(":", 1)[1] for port in published} >= {"6379", "8077", "6333", "8780", "5555", "3000"}
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_passwords_have_no_default_and_stand_in_the_example() -> None:
    text = COMPOSE.read_text()
    required = set(re.findall(r"\$\{(\w+):\?", text))
    example = (COMPOSE.parent / ".env.example").read_text()

    assert required == {
        "REDIS_PASSWORD",
        "MEMORY_TOKEN",
        "MEMSHARE_SECRET",
        "QDRANT_API_KEY",
        "FLOWER_BASIC_AUTH",
        "GRAFANA_PASSWORD",
    }
    for name in required:
        assert re.search(rf"^{name}=$", example, re.M)
        assert re.findall(rf"\$\{{{name}[^}}]*\}}", text) == [f"${{{name}:?set it in .env}}"] * text.count(f"${{{name}")
    assert ".env" in (COMPOSE.parent / ".gitignore").read_text().splitlines()
    assert "USER:PASSWORD" in example  # of Flower, which lets nobody in without the colon


def test_only_workers_get_the_keys_of_models_and_the_token_of_the_memory_service() -> None:
    keys = {"OPENAI_API_KEY", "MISTRAL_API_KEY", "MEMSHARE_SECRET", "MEMSHARE_MEMORY_TOKEN", "MEMSHARE_MEMORY_URL"}
    assert all(keys <= set(one["environment"]) for one in workers().values())
    for name in ("flower", "metrics"):
        assert "MEMSHARE_REDIS_URL" in services()[name]["environment"]
        assert not keys & set(services()[name]["environment"])


@pytest.mark.parametrize("profile", ["embedded", "qdrant"])
def test_only_what_has_the_pool_gets_to_qdrant_and_has_its_image(profile: str) -> None:
    heavy = {"memory": "memory", "trainer": "full"}
    found = services(profile) | workers(profile)

    for name in QUEUES | {"serve", "flower", "metrics"}:
        asks_qdrant = profile == "qdrant" and name in heavy
        assert found[name]["build"]["target"] == heavy.get(name, "light")
        assert found[name]["image"].endswith(f"-{heavy.get(name)}}}") is (name in heavy)
        assert ("qdrant" in found[name]["depends_on"]) is asks_qdrant
        assert ("MEMSHARE_QDRANT_URL" in found[name]["environment"]) is asks_qdrant


def test_the_memory_service_listens_where_the_others_ask_and_where_this_machine_does() -> None:
    memory = workers()["memory"]
    host, _, port = memory["environment"]["MEMSHARE_MEMORY_LISTEN"].rpartition(":")

    assert host == "0.0.0.0"
    assert {one["environment"]["MEMSHARE_MEMORY_URL"] for one in workers().values()} == {f"http://memory:{port}"}
    assert memory["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert Settings(memory_listen=memory["environment"]["MEMSHARE_MEMORY_LISTEN"]).memory_listen
    assert all(
        "MEMSHARE_MEMORY_LISTEN" not in one["environment"] for name, one in workers().items() if name != "memory"
    )


def test_every_setting_is_one_that_there_is() -> None:
    known = {f"MEMSHARE_{name.upper()}" for name in Settings.model_fields}
    used = {name for one in compose()["services"].values() for name in one.get("environment", {})}

    assert {name for name in used if name.startswith("MEMSHARE_")} <= known
    assert "MEMSHARE_REDIS_URL" in used


def test_what_the_example_of_an_environment_names_reaches_every_worker() -> None:
    named = set(
        re.findall(r"^# ((?:MEMSHARE|OTEL|OPENAI|MISTRAL)_\w+)=", (COMPOSE.parent / ".env.example").read_text(), re.M)
    )

    assert {"OTEL_EXPORTER_OTLP_ENDPOINT", "MEMSHARE_GRACE"} <= named
    for profile in ("embedded", "qdrant"):
        for one in workers(profile).values():
            assert named <= one["environment"].keys()
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in services()["serve"]["environment"]  # it sends traces, too


def test_redis_loses_nothing_and_flower_asks_who_you_are() -> None:
    redis = " ".join(services()["redis"]["command"])

    assert "--appendonly yes" in redis
    assert "--maxmemory-policy noeviction" in redis
    assert re.search(r"--maxmemory \S+", redis)  # or it is killed where it should refuse
    assert "requirepass" in redis
    assert "FLOWER_BASIC_AUTH" in services()["flower"]["environment"]
    assert "--read_only=True" in services()["flower"]["command"]


def test_every_file_that_is_mounted_is_there() -> None:
    mounted = [
        volume.split(":")[0]
        for one in compose()["services"].values()
        for volume in one.get("volumes", [])
        if volume.startswith(".")
    ]

    assert "../helm/memshare/files/memshare.json" in mounted
    for path in mounted:
        assert (COMPOSE.parent / path).exists(), path


def test_prometheus_scrapes_every_worker_and_grafana_shows_the_dashboard() -> None:
    scraped = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())["scrape_configs"]
    [found] = scraped[1]["dns_sd_configs"]
    port = next(iter(workers().values()))["environment"]["MEMSHARE_METRICS_PORT"]

    assert set(found["names"]) == QUEUES
    assert str(found["port"]) == port
    assert "prometheus.yml" in (COMPOSE.parent / "agents" / "README.md").read_text()  # where an added one is named
    grafana = compose()["services"]["grafana"]
    [provider] = yaml.safe_load((DEPLOY / "grafana/provisioning/dashboards/memshare.yml").read_text())["providers"]
    assert f"../helm/memshare/files/memshare.json:{provider['options']['path']}/memshare.json:ro" in grafana["volumes"]
    [source] = yaml.safe_load((DEPLOY / "grafana/provisioning/datasources/prometheus.yml").read_text())["datasources"]
    assert source["isDefault"]
    assert json.loads((DEPLOY / "helm/memshare/files/memshare.json").read_text())["uid"] == "memshare"
