"""The chart's CronJob has agents answer what pools lack, where the values name pools."""

from __future__ import annotations

from memshare.cli.lazy_commands import load
from tests.unit.deploy.chart import ALL_ON, container, of_kind

POD = {
    "app.kubernetes.io/name": "memshare",
    "app.kubernetes.io/instance": "demo",
    "app.kubernetes.io/component": "explore",
}


def test_nothing_is_explored_unless_pools_are_named() -> None:
    assert of_kind({}, "CronJob") == {}
    assert set(of_kind({"explore": {"pools": ["poem"]}}, "CronJob")) == {"explore"}


def test_each_pool_is_explored_by_a_command_that_there_is_with_the_models_key() -> None:
    job = of_kind(ALL_ON, "CronJob")["explore"]["spec"]
    containers = job["jobTemplate"]["spec"]["template"]["spec"]["containers"]

    assert job["schedule"] == "0 4 * * 1-5"
    assert [one["args"][3] for one in containers] == ["poem", "free_verse"]
    for one in containers:
        group, name, *words = one["args"]
        given = load(group).commands[name].make_context(name, words).params
        assert (given["calls"], given["yes"]) == (12, True)
        there = {each["name"] for each in one["env"]}
        assert there >= {"OPENAI_API_KEY", "MEMSHARE_REDIS_URL", "MEMSHARE_MEMORY_URL", "MEMSHARE_SECRET"}
        assert one["image"] == container(of_kind(ALL_ON, "Deployment")["poem"])["image"]


def test_its_pods_reach_the_memory_service_and_the_model() -> None:
    labels = of_kind(ALL_ON, "CronJob")["explore"]["spec"]["jobTemplate"]["spec"]["template"]["metadata"]["labels"]
    policies = of_kind(ALL_ON, "NetworkPolicy")

    assert labels.items() >= POD.items()
    assert {"podSelector": {"matchLabels": POD}} in policies["memory"]["spec"]["ingress"][0]["from"]
    [parts] = policies["egress"]["spec"]["podSelector"]["matchExpressions"]
    assert "explore" in parts["values"]
