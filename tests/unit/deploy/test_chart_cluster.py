"""What the chart asks of a cluster beside its pods: an ingress, volumes, a priority, and a roll for a new Secret."""

from __future__ import annotations

from base64 import b64encode

import helm_python
import pytest
import yaml

from tests.unit.deploy.chart import ALL_ON, CHART, PRODUCTION, QUEUES, Object, environment, of_kind

PRODUCTIVE: Object = yaml.safe_load(PRODUCTION.read_text())


def pods(values: Object) -> dict[str, Object]:
    found = of_kind(values, "Deployment") | of_kind(values, "StatefulSet")
    return {name: one["spec"]["template"]["spec"] for name, one in found.items()}


def test_an_ingress_leads_to_serve_over_tls_alone() -> None:
    [ingress] = of_kind(PRODUCTIVE, "Ingress").values()
    [rule], [tls] = ingress["spec"]["rules"], ingress["spec"]["tls"]
    [path] = rule["http"]["paths"]
    service = of_kind(PRODUCTIVE, "Service")["serve"]

    assert path["backend"]["service"]["name"] == service["metadata"]["name"]
    assert path["backend"]["service"]["port"]["name"] in {one["name"] for one in service["spec"]["ports"]}
    assert tls == {"hosts": [rule["host"]], "secretName": "memory-tls"}
    assert not of_kind({}, "Ingress")
    with pytest.raises(helm_python.HelmValuesError, match="tlsSecret"):
        of_kind({"serve": {"ingress": {"enabled": True, "host": "a.example.org"}}}, "Ingress")


@pytest.mark.parametrize("part", ["redis", "qdrant"])
def test_the_servers_of_the_chart_reach_nobody(part: str) -> None:
    policies = of_kind({}, "NetworkPolicy")
    labels = of_kind({}, "StatefulSet")[part]["spec"]["template"]["metadata"]["labels"]
    leads_out = [policy for policy in policies.values() if "egress" in policy["spec"]]

    assert policies["deny"]["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
    assert "Egress" in policies["deny"]["spec"]["policyTypes"]
    for policy in leads_out:
        selector = policy["spec"]["podSelector"]
        allowed = {one["key"]: one["values"] for one in selector["matchExpressions"]}
        assert not all(labels.get(key) in values for key, values in allowed.items()), policy["metadata"]["name"]


def test_no_volume_of_a_pod_fills_its_node_and_none_is_gone_over_at_each_start() -> None:
    for name, pod in pods(ALL_ON).items():
        assert pod["securityContext"]["fsGroupChangePolicy"] == "OnRootMismatch", name
        for volume in pod.get("volumes", []):
            assert volume.get("emptyDir") != {}, f"{name}: {volume['name']} has no limit"


def test_every_pod_has_the_priority_that_the_values_name() -> None:
    assert {pod.get("priorityClassName") for pod in pods(PRODUCTIVE).values()} == {"production"}
    assert {pod.get("priorityClassName") for pod in pods({}).values()} == {None}


def test_documents_are_mounted_where_they_are_read_alone() -> None:
    found = of_kind(ALL_ON, "Deployment")
    reads = {name for name in QUEUES if "MEMSHARE_DOCUMENTS" in environment(found[name])}
    mounts = {name for name in QUEUES for one in pods(ALL_ON)[name]["volumes"] if one["name"] == "documents"}

    assert reads == mounts == {"reasoning"}


def test_an_agent_may_grow_to_some_hundred_tasks_a_second() -> None:
    scaler = of_kind({}, "ScaledObject")["poem"]["spec"]
    worker = yaml.safe_load((CHART / "values.yaml").read_text())["worker"]

    assert scaler["maxReplicaCount"] * worker["concurrency"] / 3 > 300  # for replies in 3 seconds


@pytest.mark.parametrize(
    ("key", "rolls"),
    [
        ("redis-password", QUEUES | {"serve", "flower", "metrics", "redis"}),
        ("OPENAI_API_KEY", QUEUES | {"serve"}),
        ("qdrant-api-key", {"memory", "trainer", "qdrant"}),
        ("flower-basic-auth", {"flower"}),
    ],
)
def test_pods_roll_when_a_secret_that_they_read_has_changed(
    cluster: helm_python.Config, there: dict[str, Object], key: str, rolls: set[str]
) -> None:
    def annotations() -> dict[str, str]:
        with helm_python.Chart.load(CHART) as chart:
            files = cluster.render(chart, {}, name="demo", namespace="agents")
        found = [
            one
            for name, text in files.items()
            if name.endswith(".yaml")
            for one in yaml.safe_load_all(text)
            if one and one["kind"] in ("Deployment", "StatefulSet")
        ]
        return {
            one["metadata"]["name"].removeprefix("demo-memshare-"): one["spec"]["template"]["metadata"]
            .get("annotations", {})
            .get("memshare/secrets", "")
            for one in found
        }

    keys = ["redis-password", "OPENAI_API_KEY", "qdrant-api-key", "flower-basic-auth"]
    there["memshare"] = {name: b64encode(b"old").decode() for name in keys}
    before, again = annotations(), annotations()
    there["memshare"][key] = b64encode(b"new").decode()
    after = annotations()

    assert before == again
    assert {name for name in before if before[name] != after[name]} == rolls
