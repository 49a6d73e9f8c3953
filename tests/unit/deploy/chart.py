"""The Helm chart, rendered offline by Helm's own engine."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import helm_python
import yaml

DEPLOY = Path(__file__).parents[3] / "deploy"
CHART = DEPLOY / "helm" / "memshare"
PRODUCTION = DEPLOY / "helm" / "production.yaml"
QUEUES = {"poem", "logic", "plan", "reasoning", "scorer", "concepts", "memory", "trainer"}

Object = dict[str, Any]

TLS = {
    "redis": {
        "enabled": False,
        "external": {"host": "redis.example.org", "port": 6380, "tls": {"enabled": True, "caSecret": "redis-ca"}},
    },
    "qdrant": {"enabled": False, "url": "https://qdrant.example.org:6333"},
}
SENTINEL = {
    "redis": {
        "enabled": False,
        "external": {"sentinel": {"master": "mymaster", "nodes": ["a.example:26379", "b.example:26379"]}},
    }
}
OWN_AGENT = {
    "agents": {"haiku": {"maxReplicas": 3, "nodeSelector": {"disk": "ssd"}}, "free_verse": {}, "poem": None},
    "agentFiles": {"haiku.toml": "description = 'x'\n", "haiku.rubric.toml": "threshold = 81\n"},
}
ALL_ON = {
    "monitoring": {"enabled": True, "labels": {"release": "prometheus"}},
    "image": {"repository": "registry.example.org/memshare", "tag": "1.2.3", "pullSecrets": ["registry"]},
    "encoders": {"claim": "encoders"},
    "documents": {"claim": "documents"},
    "memoryService": {"secret": {"name": "memshare", "key": "memory-token"}},
    "signing": {"secret": {"name": "memshare", "key": "signing-secret"}},
    "settings": {"MODEL": "openai:gpt-5.6-luna", "TRIES": 4},
    "prices": 'currency = "EUR"\n["openai:gpt-5.6-luna"]\nprompt = 2.0\ncompletion = 8.0\n',
    "env": {"OPENAI_BASE_URL": "http://vllm.models:8000/v1"},
    "networkPolicy": {
        "clients": [{"podSelector": {"matchLabels": {"app": "shop"}}}],
        "serveClients": [{"podSelector": {"matchLabels": {"app": "bot"}}}],
    },
}
ALL_OFF = {
    "autoscaling": {"enabled": False},
    "serve": {"enabled": False},
    "flower": {"enabled": False},
    "metrics": {"enabled": False},
    "networkPolicy": {"enabled": False},
    "models": {"secret": ""},
    "agents": {"poem": {}, "logic": None, "plan": None, "reasoning": None},
    **{name: value for name, value in TLS.items() if name == "qdrant"},
    "redis": {"enabled": False, "external": {"host": "redis.example.org"}},
}
VARIANTS: dict[str, Object] = {
    "defaults": {},
    "external with TLS": TLS,
    "sentinel": SENTINEL,
    "own agents": OWN_AGENT,
    "everything on": ALL_ON,
    "everything off": ALL_OFF,
    "production": yaml.safe_load(PRODUCTION.read_text()),
}


def render(values: Object, chart: Path = CHART, name: str = "demo") -> dict[str, str]:
    """The rendered files by path; raises `helm_python.HelmError` for a broken template or refused values."""
    return dict(rendered(json.dumps(values), chart, name))


@functools.cache
def rendered(values: str, chart: Path, name: str) -> dict[str, str]:
    """What JSON of values makes; what is made by chance stays the same until the cache is cleared."""
    with helm_python.Chart.load(chart) as loaded:
        return loaded.render(json.loads(values), name=name, namespace="agents")


def objects(values: Object, chart: Path = CHART, name: str = "demo") -> list[Object]:
    """What `kubectl apply` would get."""
    return [found for text in render(values, chart, name).values() for found in _documents(text)]


def of_kind(values: Object, kind: str, chart: Path = CHART) -> dict[str, Object]:
    """The objects of one kind by their names without the release's."""
    return {
        found["metadata"]["name"].removeprefix("demo-memshare").removeprefix("-"): found
        for found in objects(values, chart)
        if found["kind"] == kind
    }


def container(workload: Object) -> Object:
    return workload["spec"]["template"]["spec"]["containers"][0]


def environment(workload: Object) -> dict[str, Any]:
    """Its variables: a value, or where it comes from."""
    return {one["name"]: one.get("value", one.get("valueFrom")) for one in container(workload)["env"]}


def _documents(text: str) -> Iterator[Object]:
    try:
        yield from (found for found in yaml.load_all(text, yaml.CSafeLoader) if isinstance(found, dict))
    except yaml.YAMLError:
        if "kind:" in text:  # NOTES.txt is no YAML
            raise
