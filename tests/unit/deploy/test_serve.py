"""`memshare serve` in the chart and in compose: a member of the deployment, with its models' keys, behind tokens."""

from __future__ import annotations

import shlex
from itertools import pairwise

import pytest
import typer
from fastapi.testclient import TestClient

from memshare.cli.run.token import app
from memshare.client.rest.task import PORT
from memshare.doors.server import rest_app
from memshare.operations.backend import Backend
from memshare_broker.settings import Settings
from tests.unit.deploy.chart import ALL_OFF, ALL_ON, OWN_AGENT, Object, container, environment, of_kind, render
from tests.unit.deploy.test_compose import COMPOSE, compose

KEYS = {"OPENAI_API_KEY", "MISTRAL_API_KEY"}
MEMBER = {"MEMSHARE_REDIS_URL", "MEMSHARE_MEMORY_URL", "MEMSHARE_MEMORY_TOKEN", "MEMSHARE_SECRET"}


def peers(values: Object, policy: str) -> list[dict[str, str]]:
    [rule] = of_kind(values, "NetworkPolicy")[policy]["spec"]["ingress"]
    return [peer["podSelector"]["matchLabels"] for peer in rule["from"] if "podSelector" in peer]


def test_its_service_leads_to_the_port_that_it_listens_on() -> None:
    service, workload = of_kind({}, "Service")["serve"], of_kind({}, "Deployment")["serve"]
    [port], inner = service["spec"]["ports"], container(workload)
    options = dict(zip(inner["args"][1::2], inner["args"][2::2], strict=True))

    assert inner["args"][0] == "serve"
    assert options | {"--agent": ""} == {"--host": "0.0.0.0", "--port": str(PORT), "--agent": ""}
    assert {port["targetPort"]: PORT} == {one["name"]: one["containerPort"] for one in inner["ports"]}
    assert service["spec"]["selector"].items() <= workload["spec"]["template"]["metadata"]["labels"].items()
    assert "serve" in of_kind({}, "PodDisruptionBudget")
    assert inner["lifecycle"]["preStop"]  # the Service forgets the pod before it closes
    assert of_kind({"serve": {"replicas": 3}}, "Deployment")["serve"]["spec"]["replicas"] == 3
    assert "serve" not in of_kind(ALL_OFF, "Deployment")


def test_it_signs_and_asks_as_the_workers_do_and_has_the_keys_by_which_it_answers_questions() -> None:
    found, worker = (environment(of_kind(ALL_ON, "Deployment")[name]) for name in ("serve", "poem"))
    composed = compose()["services"]

    assert MEMBER | {"MEMSHARE_PRICES", "MEMSHARE_TRIES"} <= set(found)
    assert all(found[name] == worker[name] for name in MEMBER)
    assert list(found).index("REDIS_PASSWORD") < list(found).index("MEMSHARE_REDIS_URL")  # or $(…) is not filled in
    assert {name for name in found if name.startswith("MEMSHARE_")} <= {
        f"MEMSHARE_{name.upper()}" for name in Settings.model_fields
    }
    assert set(composed["serve"]["environment"]) >= MEMBER
    assert set(composed["serve"]["environment"]) >= KEYS
    assert {name: found[name] for name in {*KEYS, "OPENAI_BASE_URL"}} == {
        name: worker[name] for name in {*KEYS, "OPENAI_BASE_URL"}
    }
    assert not KEYS & set(environment(of_kind({"models": {"secret": ""}}, "Deployment")["serve"]))
    assert not [name for name in {*found, *composed["serve"]["environment"]} if "QDRANT" in name]


def agents_of(values: Object) -> list[str]:
    words = container(of_kind(values, "Deployment")["serve"])["args"]
    return [word for before, word in pairwise(words) if before == "--agent"]


def test_it_knows_which_agents_the_release_runs() -> None:
    assert agents_of({}) == ["logic", "plan", "poem", "reasoning"]
    assert agents_of(OWN_AGENT) == ["free_verse", "haiku", "logic", "plan", "reasoning"]


def test_it_reaches_redis_and_the_memory_service_and_only_who_is_named_reaches_it() -> None:
    own = {"app.kubernetes.io/component": "serve"}

    assert [one for one in peers({}, "memory") if own.items() <= one.items()]
    [ours] = [one for one in peers({}, "redis") if one.get("app.kubernetes.io/name") == "memshare"]
    assert ours.items() <= of_kind({}, "Deployment")["serve"]["spec"]["template"]["metadata"]["labels"].items()
    [parts] = of_kind({}, "NetworkPolicy")["egress"]["spec"]["podSelector"]["matchExpressions"]
    assert "serve" in parts["values"]
    assert "serve" not in of_kind({}, "NetworkPolicy")  # nobody but a port-forward
    assert peers(ALL_ON, "serve") == [{"app": "bot"}, {"app": "shop"}]
    assert {"app": "bot"} not in peers(ALL_ON, "redis") + peers(ALL_ON, "memory")


def test_the_probes_ask_what_it_answers_without_a_token() -> None:
    asked = container(of_kind({}, "Deployment")["serve"])["readinessProbe"]["httpGet"]
    elsewhere = TestClient(rest_app(Backend(Settings(redis_url="redis://127.0.0.1:1/0"))), client=("192.0.2.7", 50_000))

    assert elsewhere.get(asked["path"]).status_code == 200  # while Redis is away, too: no restart brings it back
    assert f"http://127.0.0.1:{PORT}{asked['path']}" in compose()["services"]["serve"]["healthcheck"]["test"][-1]


@pytest.mark.parametrize(
    "text", [render({})["memshare/templates/NOTES.txt"], COMPOSE.read_text()], ids=["chart", "compose"]
)
def test_the_command_that_makes_a_token_is_one_that_there_is(text: str) -> None:
    [line] = [line for line in text.splitlines() if "memshare token create" in line]
    name, *words = shlex.split(line.partition("memshare token ")[2])
    create = typer.main.get_command(app).commands[name]

    assert create.make_context(name, words).params["may"] == "admin"
