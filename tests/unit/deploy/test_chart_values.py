"""Wrong values are refused with a message that names them."""

from __future__ import annotations

import re

import helm_python
import pytest
import yaml

from tests.unit.deploy.chart import CHART, VARIANTS, render

WRONG = {
    "a misspelt key": ({"agnets": {}}, "agnets"),
    "a misspelt key of a queue": ({"agents": {"poem": {"concurency": 8}}}, "/agents/poem.*concurency"),
    "a second trainer": ({"stages": {"trainer": {"maxReplicas": 2}}}, "/stages/trainer/maxReplicas.*must be 1"),
    "no memory service": ({"stages": {"memory": {"minReplicas": 0}}}, "/stages/memory/minReplicas"),
    "an agent called as a stage": ({"agents": {"scorer": {}}}, "scorer"),
    **{
        f"an agent called as the chart's {part}": ({"agents": {part: {}}}, part)
        for part in ("redis", "qdrant", "serve", "flower", "metrics")
    },
    "no task at a time": ({"worker": {"concurrency": 0}}, "/worker/concurrency"),
    "text for a number": ({"grace": "long"}, "/grace"),
    "no Redis at all": ({"redis": {"enabled": False}}, "/redis/external/host"),
    "sentinels without a list": (
        {"redis": {"enabled": False, "external": {"sentinel": {"master": "mymaster"}}}},
        "/redis/external/sentinel/nodes",
    ),
    "a sentinel without a port": (
        {"redis": {"enabled": False, "external": {"sentinel": {"master": "m", "nodes": ["a"]}}}},
        "/redis/external/sentinel/nodes/0",
    ),
    "a host beside sentinels": (
        {"redis": {"enabled": False, "external": {"host": "h", "sentinel": {"master": "m", "nodes": ["a:1"]}}}},
        "/redis/external/host",
    ),
    "no Qdrant at all": ({"qdrant": {"enabled": False}}, "/qdrant/url"),
    "a Qdrant without a key": ({"qdrant": {"secret": {"name": ""}}}, "/qdrant/secret/name"),
    "a password in the values": ({"redis": {"password": "hunter2"}}, "password"),
    "a setting with its prefix": ({"settings": {"MEMSHARE_MODEL": "offline"}}, "MEMSHARE_MODEL"),
    "a setting that the chart makes": ({"settings": {"REDIS_URL": "redis://x"}}, "REDIS_URL"),
    "a token in the settings": ({"settings": {"MEMORY_TOKEN": "x"}}, "MEMORY_TOKEN"),
    "a file that is no agent": ({"agentFiles": {"haiku.yaml": "x"}}, "haiku.yaml"),
    "a quantity without a unit that is known": ({"redis": {"storage": "8 GB"}}, "/redis/storage"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_values_are_refused_by_name(case: str) -> None:
    values, named = WRONG[case]

    with pytest.raises(helm_python.HelmValuesError) as error:
        render(values)
    assert re.search(named, str(error.value))


def test_two_agents_whose_pods_would_have_one_name_are_refused() -> None:
    with pytest.raises(helm_python.HelmError, match="a-b and a_b would both be called a-b"):
        render({"agents": {"a_b": {}, "a-b": {}}})


@pytest.mark.parametrize("variant", VARIANTS)
def test_right_values_are_taken(variant: str) -> None:
    assert render(VARIANTS[variant])


def test_every_value_is_in_the_schema_and_every_key_of_the_schema_has_a_default() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    schema = yaml.safe_load((CHART / "values.schema.json").read_text())

    assert set(schema["properties"]) - {"global"} == set(values)
