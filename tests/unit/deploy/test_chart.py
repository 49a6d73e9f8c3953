"""What the chart promises: one Deployment for each queue, secrets by reference, an end that loses nothing."""

from __future__ import annotations

import json
import re

import pytest

from memshare_broker.delivery.schema import since_key
from memshare_broker.settings import Settings
from tests.unit.deploy.chart import (
    ALL_OFF,
    ALL_ON,
    OWN_AGENT,
    QUEUES,
    SENTINEL,
    TLS,
    VARIANTS,
    container,
    environment,
    objects,
    of_kind,
    render,
)


def workers(values: dict) -> dict:
    return {
        name: found
        for name, found in of_kind(values, "Deployment").items()
        if found["metadata"]["labels"]["app.kubernetes.io/component"] == "worker"
    }


def test_every_queue_has_a_deployment_a_scaler_and_a_disruption_budget() -> None:
    assert set(workers({})) == QUEUES
    assert set(of_kind({}, "ScaledObject")) == QUEUES
    assert set(of_kind({}, "PodDisruptionBudget")) == QUEUES | {"serve"}
    assert {container(one)["args"][1] for one in workers({}).values()} == QUEUES


def test_an_added_agent_is_one_entry_and_a_null_takes_one_away() -> None:
    found = workers(OWN_AGENT)

    assert set(found) == QUEUES - {"poem"} | {"haiku", "free-verse"}
    assert container(found["free-verse"])["args"][1] == "free_verse"
    assert found["haiku"]["spec"]["template"]["spec"]["nodeSelector"] == {"disk": "ssd"}
    assert of_kind(OWN_AGENT, "ScaledObject")["haiku"]["spec"]["maxReplicaCount"] == 3
    assert environment(found["haiku"])["MEMSHARE_AGENTS_DIR"] == "/etc/memshare/agents"
    assert set(of_kind(OWN_AGENT, "ConfigMap")["agents"]["data"]) == {"haiku.toml", "haiku.rubric.toml"}


def test_the_prices_lie_where_the_setting_says() -> None:
    found = workers(ALL_ON)["poem"]
    folder, _, name = environment(found)["MEMSHARE_PRICES"].rpartition("/")

    assert {"name": "prices", "mountPath": folder, "readOnly": True} in container(found)["volumeMounts"]
    assert of_kind(ALL_ON, "ConfigMap")["prices"]["data"][name] == ALL_ON["prices"].rstrip("\n")
    assert "MEMSHARE_PRICES" not in environment(workers({})["poem"])


def test_every_process_that_reads_the_agents_files_rolls_when_they_change() -> None:
    def hashes(text: str) -> dict[str, str]:
        found = of_kind(OWN_AGENT | {"agentFiles": {"haiku.toml": text}}, "Deployment")
        assert {"haiku", "scorer", "serve", "flower", "metrics"} <= set(found)
        pods = {name: one["spec"]["template"]["metadata"] for name, one in found.items()}
        return {name: pod["annotations"]["memshare/files"] for name, pod in pods.items()}

    before, after = hashes("description = 'x'"), hashes("description = 'y'")

    assert len(set(before.values())) == len(set(after.values())) == 1
    assert before["flower"] != after["flower"]
    assert "annotations" not in of_kind({}, "Deployment")["flower"]["spec"]["template"]["metadata"]


def test_large_numbers_and_truths_reach_a_worker_as_they_were_written() -> None:
    values = {"settings": {"QUEUE_LIMIT": 2_000_000, "LEARN": False, "TRIES": 4, "MODEL": "a<b"}}
    found = environment(workers(values | {"env": {"BYTES": 2**40, "RATIO": 0.25}})["poem"])

    assert [found[f"MEMSHARE_{name}"] for name in values["settings"]] == ["2000000", "false", "4", "a<b"]
    assert [found["BYTES"], found["RATIO"]] == ["1099511627776", "0.25"]
    [ledger, _] = of_kind({"worker": {"tasksPerReplica": 3_000_000}}, "ScaledObject")["poem"]["spec"]["triggers"]
    assert ledger["metadata"]["listLength"] == "3000000"


def test_the_trainer_stays_where_it_may_have_to_consolidate() -> None:
    found = {name: one["spec"]["minReplicaCount"] for name, one in of_kind(ALL_ON, "ScaledObject").items()}

    assert found["trainer"] == 1
    assert found["poem"] == 0


def test_agents_scale_to_zero_and_there_is_never_a_second_trainer() -> None:
    scalers = {name: one["spec"] for name, one in of_kind({}, "ScaledObject").items()}

    assert {name for name, spec in scalers.items() if spec["minReplicaCount"] == 0} == QUEUES - {"scorer", "memory"}
    assert scalers["trainer"]["maxReplicaCount"] == 1
    assert workers({})["trainer"]["spec"]["strategy"] == {"type": "Recreate"}
    assert all("replicas" not in one["spec"] for one in workers({}).values())
    assert workers(ALL_OFF)["poem"]["spec"]["replicas"] == 1


def test_a_scaler_counts_what_runs_or_could_and_what_other_clients_send() -> None:
    triggers = of_kind({}, "ScaledObject")["poem"]["spec"]["triggers"]

    assert [one["metadata"]["listName"] for one in triggers] == [since_key("poem"), "poem"]


def test_kubernetes_waits_longer_than_a_worker_takes_to_end() -> None:
    for grace in (25, 200):
        for one in workers({"grace": grace}).values():
            assert environment(one)["MEMSHARE_GRACE"] == str(grace)
            assert one["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] >= grace + 15


def test_the_probes_read_the_heartbeat_that_the_worker_writes() -> None:
    for one in workers({}).values():
        heartbeat = environment(one)["MEMSHARE_HEARTBEAT"]
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            by_door = probe == "readinessProbe" and "MEMSHARE_MEMORY_LISTEN" in environment(one)
            assert by_door or heartbeat in container(one)[probe]["exec"]["command"][-1]
        start = container(one)["startupProbe"]
        assert start["periodSeconds"] * start["failureThreshold"] >= 600


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_secret_stands_in_a_manifest(variant: str) -> None:
    found = objects(VARIANTS[variant])

    # The memory service's token and the secret of messages are made here, unless the values name a Secret with them.
    made = {one["metadata"]["name"] for one in found if one["kind"] == "Secret"}
    kept = {"memoryService": "demo-memshare-memory", "signing": "demo-memshare-signing"}
    assert made == {name for part, name in kept.items() if part not in VARIANTS[variant]}
    for one in found:
        for url in re.findall(r"://[^\s\"@/]*@", json.dumps(one)):
            assert url == "://:$(REDIS_PASSWORD)@"
    for one in workers(VARIANTS[variant]).values():
        assert "secretKeyRef" in environment(one)["MEMSHARE_SECRET"], "every worker signs"
        secret = {"REDIS_PASSWORD", "MEMSHARE_MEMORY_TOKEN", "MEMSHARE_QDRANT_API_KEY", "OPENAI_API_KEY"}
        secret &= set(environment(one))
        assert all("secretKeyRef" in environment(one)[name] for name in secret)
        names = list(environment(one))
        assert names.index("REDIS_PASSWORD") < names.index("MEMSHARE_REDIS_URL")  # or $(…) is not filled in


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_pod_is_confined(variant: str) -> None:
    for one in objects(VARIANTS[variant]):
        if one["kind"] not in ("Deployment", "StatefulSet"):
            continue
        pod = one["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        inner = pod["containers"][0]
        assert inner["securityContext"]["readOnlyRootFilesystem"] is True
        assert inner["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert set(inner["resources"]) == {"requests", "limits"}
        named = {volume["name"] for volume in pod.get("volumes", [])}
        claimed = {claim["metadata"]["name"] for claim in one["spec"].get("volumeClaimTemplates", [])}
        assert {mount["name"] for mount in inner["volumeMounts"]} == named | claimed


def test_the_charts_redis_loses_nothing_and_refuses_before_it_is_killed() -> None:
    found = container(of_kind({"redis": {"maxMemory": "3gb"}}, "StatefulSet")["redis"])["args"][0]

    for option in ("--appendonly yes", "--appendfsync everysec", "--maxmemory 3gb", "--maxmemory-policy noeviction"):
        assert option in found


def test_redis_over_tls_is_reached_with_the_given_authority() -> None:
    found = workers(TLS)["poem"]
    url = environment(found)["MEMSHARE_REDIS_URL"]

    assert url == (
        "rediss://:$(REDIS_PASSWORD)@redis.example.org:6380/0"
        "?ssl_cert_reqs=required&ssl_ca_certs=/etc/memshare/redis/ca.crt"
    )
    assert Settings(redis_url=url).redis == url
    authentication = of_kind(TLS, "TriggerAuthentication")["redis"]["spec"]
    assert {"parameter": "ca", "name": "redis-ca", "key": "ca.crt"} in authentication["secretTargetRef"]
    assert authentication["env"] == [{"parameter": "tls", "name": "REDIS_TLS", "containerName": "worker"}]
    assert environment(found)["REDIS_TLS"] == "enable"
    assert not of_kind(TLS, "StatefulSet")


def test_sentinels_are_asked_for_the_master() -> None:
    url = environment(workers(SENTINEL)["poem"])["MEMSHARE_REDIS_URL"]
    trigger = of_kind(SENTINEL, "ScaledObject")["poem"]["spec"]["triggers"][0]

    assert url == "sentinel://:$(REDIS_PASSWORD)@a.example:26379,b.example:26379/0?master=mymaster"
    assert trigger["type"] == "redis-sentinel"
    assert trigger["metadata"]["addresses"] == "a.example:26379,b.example:26379"
    assert trigger["metadata"]["sentinelMaster"] == "mymaster"


@pytest.mark.parametrize("variant", ["defaults", "external with TLS", "own agents", "everything on"])
def test_every_setting_that_the_chart_sets_is_one_that_there_is(variant: str) -> None:
    known = {f"MEMSHARE_{name.upper()}" for name in Settings.model_fields}
    for one in workers(VARIANTS[variant]).values():
        used = {name for name in environment(one) if name.startswith("MEMSHARE_")}
        assert used <= known, used - known


def test_a_pod_is_reached_only_by_those_that_a_policy_names() -> None:
    policies = of_kind(ALL_ON, "NetworkPolicy")

    assert policies["deny"]["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert not {"ingress", "egress"} & set(policies["deny"]["spec"])
    assert {"podSelector": {"matchLabels": {"app": "shop"}}} in policies["redis"]["spec"]["ingress"][0]["from"]
    assert "flower" in policies
    assert "flower" not in of_kind({}, "NetworkPolicy")  # nobody but a port-forward
    assert "--read_only=True" in container(of_kind({}, "Deployment")["flower"])["command"]
    for policy in policies.values():
        for rule in policy["spec"].get("ingress", []):
            assert rule["from"], "an empty list would let everyone in"


@pytest.mark.parametrize("qdrant", ["https://qdrant.example.org", "http://qdrant", "http://qdrant:6333"])
def test_workers_reach_an_external_redis_and_qdrant_but_not_the_clouds_metadata(qdrant: str) -> None:
    values = TLS | {"qdrant": {"enabled": False, "url": qdrant}}
    policies = of_kind(values, "NetworkPolicy")
    egress = [*policies["egress"]["spec"]["egress"], *policies["egress-qdrant"]["spec"]["egress"]]
    external = [rule for rule in egress if rule["ports"] in ([{"port": 6380}], [{"port": 6333}])]

    assert len(external) == 2
    assert all({"namespaceSelector": {}} in rule["to"] for rule in external)  # they may be in this cluster
    assert {port["port"] for rule in egress for port in rule["ports"]} == {53, 443, 80, 6379, 8077, 6333, 6380}
    for rule in egress:
        assert rule["to"], "a rule without it would let everyone out"
    blocks = [to["ipBlock"] for rule in egress for to in rule["to"] if "ipBlock" in to]
    assert {"cidr": "169.254.20.10/32"} in blocks  # a DNS cache of the node; no more of these addresses
    assert len(blocks) == 4
    assert all("169.254.0.0/16" in block["except"] for block in blocks if block["cidr"] == "0.0.0.0/0")


def test_the_notes_say_which_secret_to_make() -> None:
    notes = render({})["memshare/templates/NOTES.txt"]

    for key in ("redis-password", "qdrant-api-key", "flower-basic-auth", "OPENAI_API_KEY"):
        assert f"--from-literal={key}=" in notes


def test_the_chart_carries_the_dashboard_and_the_alerts() -> None:
    dashboard = of_kind({}, "ConfigMap")["dashboard"]
    assert json.loads(dashboard["data"]["memshare.json"])["uid"] == "memshare"
    assert of_kind(ALL_ON, "PrometheusRule")[""]["spec"]["groups"]
