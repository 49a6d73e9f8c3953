"""The memory service in the chart: a Service that memshare's own pods reach, with a token that outlives upgrades."""

from __future__ import annotations

from base64 import b64decode

import helm_python
import pytest
import yaml

from memshare_broker.settings import Settings
from tests.unit.deploy.chart import (
    ALL_OFF,
    ALL_ON,
    CHART,
    QUEUES,
    TLS,
    Object,
    container,
    environment,
    of_kind,
    render,
    rendered,
)

HAVE_POOL = {"memory", "trainer"}
OWN_SECRET = {"memoryService": {"secret": {"name": "mine", "key": "token"}}}


def workers(values: Object) -> dict[str, Object]:
    return {name: found for name, found in of_kind(values, "Deployment").items() if name in QUEUES}


def test_every_worker_asks_the_memory_service_where_it_listens() -> None:
    service = of_kind({}, "Service")["memory"]
    [port] = service["spec"]["ports"]
    listens = environment(workers({})["memory"])["MEMSHARE_MEMORY_LISTEN"]
    pod = workers({})["memory"]["spec"]["template"]
    named = {one["name"]: one["containerPort"] for one in container(workers({})["memory"])["ports"]}

    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    assert Settings(memory_listen=listens).memory_listen == f"0.0.0.0:{named[port['targetPort']]}"
    for name, one in workers({}).items():
        assert environment(one)["MEMSHARE_MEMORY_URL"] == f"http://{service['metadata']['name']}:{port['port']}"
        assert ("MEMSHARE_MEMORY_LISTEN" in environment(one)) is (name == "memory")


def test_the_memory_service_is_ready_when_it_answers_and_alive_by_its_heartbeat() -> None:
    for values in ({}, ALL_OFF):
        inner = container(workers(values)["memory"])
        assert inner["readinessProbe"]["httpGet"] == {"path": "/health", "port": "door"}
        assert "door" in {one["name"] for one in inner["ports"]}
        assert "/tmp/heartbeat" in inner["livenessProbe"]["exec"]["command"][-1]
        assert inner["lifecycle"]["preStop"]  # the Service forgets the pod before the door closes


def test_only_what_has_encoder_and_pool_runs_its_image_and_knows_qdrant() -> None:
    found = {**workers({}), **{name: of_kind({}, "Deployment")[name] for name in ("serve", "flower", "metrics")}}

    tags = {
        name: container(one)["image"].rpartition("-")[2]
        for name, one in found.items()
        if "-" in container(one)["image"]
    }
    assert tags == {"memory": "memory", "trainer": "full"}
    assert {name for name, one in found.items() if "MEMSHARE_QDRANT_URL" in environment(one)} == HAVE_POOL
    assert {name for name, one in found.items() if "MEMSHARE_QDRANT_API_KEY" in environment(one)} == HAVE_POOL
    tagged = workers({"image": {"tag": "2", "memoryTag": "2-served", "fullTag": "2-cuda"}})
    assert container(tagged["poem"])["image"] == "memshare:2"
    assert container(tagged["memory"])["image"] == "memshare:2-served"
    assert container(tagged["trainer"])["image"] == "memshare:2-cuda"


@pytest.mark.parametrize("values", [{}, TLS], ids=["the chart's Qdrant", "another Qdrant"])
def test_nobody_else_has_a_way_to_qdrant(values: Object) -> None:
    policies = of_kind(values, "NetworkPolicy")
    everybodys = {port["port"] for rule in policies["egress"]["spec"]["egress"] for port in rule["ports"]}
    own = policies["egress-qdrant"]["spec"]

    assert 6333 not in everybodys
    assert {port["port"] for rule in own["egress"] for port in rule["ports"]} == {6333}
    assert all(rule["to"] for rule in own["egress"])
    [queues] = own["podSelector"]["matchExpressions"]
    assert (queues["key"], set(queues["values"])) == ("memshare/queue", HAVE_POOL)
    if not values:
        assert policies["qdrant"]["spec"]["ingress"][0]["from"] == [{"podSelector": own["podSelector"]}]


def test_the_door_is_open_to_memshares_workers_and_to_named_clients_alone() -> None:
    [rule] = of_kind({}, "NetworkPolicy")["memory"]["spec"]["ingress"]
    labels = [peer["podSelector"]["matchLabels"] for peer in rule["from"]]

    assert rule["ports"] == [{"port": 8077}]
    assert all(set(peer) == {"podSelector"} for peer in rule["from"])  # of this namespace
    assert [one["app.kubernetes.io/component"] for one in labels] == ["worker", "serve"]
    assert {one["app.kubernetes.io/instance"] for one in labels} == {"demo"}
    named = of_kind(ALL_ON, "NetworkPolicy")["memory"]["spec"]["ingress"][0]["from"]
    assert [one for one in named if one["podSelector"]["matchLabels"] == {"app": "shop"}]


def test_the_memory_service_stays_and_grows_with_what_it_does() -> None:
    scaler = of_kind({}, "ScaledObject")["memory"]["spec"]

    assert scaler["minReplicaCount"] == 1
    assert {"type": "cpu", "metricType": "Utilization", "metadata": {"value": "80"}} in scaler["triggers"]
    assert "cpu" in container(workers({})["memory"])["resources"]["requests"]  # of which that is a share
    assert {one["type"] for one in of_kind({}, "ScaledObject")["poem"]["spec"]["triggers"]} == {"redis"}


def test_a_memory_service_begins_with_the_images_export_or_the_shared_one() -> None:
    pod = workers({})["memory"]["spec"]["template"]["spec"]
    [first] = pod["initContainers"]
    [mounted] = first["volumeMounts"]

    assert first["image"] == container(workers({})["memory"])["image"]
    assert first["command"] == ["cp", "-r", f"{environment(workers({})['memory'])['MEMSHARE_DATA']}/exports", "/pod/"]
    assert mounted == {"name": "data", "mountPath": "/pod"}  # and not over the image's own folder
    for name in HAVE_POOL:
        shared = workers(ALL_ON)[name]
        mounts = {one["mountPath"]: one["name"] for one in container(shared)["volumeMounts"]}
        assert mounts[environment(shared)["MEMSHARE_ENCODERS"]] == "encoders"
        assert environment(shared)["MEMSHARE_EXPORTS"].startswith(f"{environment(shared)['MEMSHARE_ENCODERS']}/")
        assert "initContainers" not in shared["spec"]["template"]["spec"]
    assert "MEMSHARE_ENCODERS" not in environment(workers(ALL_ON)["poem"])


def test_the_token_is_made_where_none_is_given() -> None:
    made = of_kind({}, "Secret")["memory"]
    token = b64decode(made["data"]["memory-token"]).decode()

    assert len(token) == 40
    assert token.isalnum()
    rendered.cache_clear()
    assert token != b64decode(of_kind({}, "Secret")["memory"]["data"]["memory-token"]).decode()
    for one in workers({}).values():
        wanted = {"secretKeyRef": {"name": made["metadata"]["name"], "key": "memory-token"}}
        assert environment(one)["MEMSHARE_MEMORY_TOKEN"] == wanted


def test_a_token_of_ones_own_is_used_as_it_is() -> None:
    assert "memory" not in of_kind(OWN_SECRET, "Secret")
    for one in workers(OWN_SECRET).values():
        assert environment(one)["MEMSHARE_MEMORY_TOKEN"] == {"secretKeyRef": {"name": "mine", "key": "token"}}
    notes = render(OWN_SECRET)["memshare/templates/NOTES.txt"]
    assert "--from-literal=token=" in notes
    assert "get secret mine -o jsonpath='{.data.token}'" in notes


def test_the_token_that_is_there_stays_over_an_upgrade(cluster: helm_python.Config, there: dict[str, Object]) -> None:
    with helm_python.Chart.load(CHART) as chart:
        first = token_of(cluster.render(chart, {}, name="demo", namespace="agents"))
        there["demo-memshare-memory"] = {"memory-token": first}
        second = token_of(cluster.render(chart, {}, name="demo", namespace="agents", is_upgrade=True))
        other = token_of(cluster.render(chart, {}, name="other", namespace="agents"))

    assert second == first
    assert other != first


def token_of(rendered: dict[str, str]) -> str:
    found = yaml.safe_load_all(rendered["memshare/templates/memory.yaml"])
    [token] = [one["data"]["memory-token"] for one in found if one and one["kind"] == "Secret"]
    return token


def test_the_secret_of_messages_is_made_once_and_is_one_that_workers_take(
    cluster: helm_python.Config, there: dict[str, Object]
) -> None:
    with helm_python.Chart.load(CHART) as chart:
        made = yaml.safe_load(
            cluster.render(chart, {}, name="demo", namespace="agents")["memshare/templates/signing.yaml"]
        )
        there["demo-memshare-signing"] = made["data"]
        upgraded = cluster.render(chart, {}, name="demo", namespace="agents", is_upgrade=True)

    assert yaml.safe_load(upgraded["memshare/templates/signing.yaml"])["data"] == made["data"]
    assert Settings(secret=b64decode(made["data"]["signing-secret"]).decode()).secret
    wanted = {"secretKeyRef": {"name": "demo-memshare-signing", "key": "signing-secret"}}
    assert all(environment(one)["MEMSHARE_SECRET"] == wanted for one in workers({}).values())
