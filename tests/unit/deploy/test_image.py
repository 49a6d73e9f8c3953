"""The images: what they copy is there, they are nobody's root, and their health check asks the worker."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml
from dockerfile_parse import DockerfileParser

from memshare.extras import BRINGS, MODULES
from tests.unit.deploy.chart import CHART, DEPLOY, PRODUCTION

ROOT = DEPLOY.parent
DOCKERFILE = DEPLOY / "image" / "Dockerfile"


def instructions(name: str) -> list[str]:
    """The values of one instruction in the order of the file."""
    with DOCKERFILE.open("rb") as file:
        return [one["value"] for one in DockerfileParser(fileobj=file).structure if one["instruction"] == name]


def stages() -> dict[str, str]:
    """Each stage with what it begins from."""
    return dict(reversed(value.split(" AS ")) for value in instructions("FROM"))


def copied() -> set[str]:
    return {source for value in instructions("COPY") if not value.startswith("--from") for source in value.split()[:-1]}


def extras_of(image: str) -> set[str]:
    """The extras that an image's packages are locked for, and those that they bring along."""
    [named] = re.findall(rf'^lock {image} "(.*?)"', (DOCKERFILE.parent / "lock").read_text(), re.M)
    return {one for extra in named.split() for one in (extra, *BRINGS.get(extra, ()))}


def sent_to_the_build(path: str) -> bool:
    """Whether the ignore file lets a path through: the last line that fits decides."""
    sent = True
    for line in (DOCKERFILE.parent / "Dockerfile.dockerignore").read_text().splitlines():
        pattern = line.removeprefix("!")
        parents = [path, *(str(parent) for parent in Path(path).parents)]
        if line and not line.startswith("#") and any(fnmatch(one, pattern.removeprefix("**/")) for one in parents):
            sent = line.startswith("!")
    return sent


def test_everything_that_is_copied_is_there_and_is_sent_to_the_build() -> None:
    assert copied()
    for source in copied():
        assert (ROOT / source).exists(), source
        assert sent_to_the_build(source), source


def test_every_package_that_is_built_is_copied() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())

    parts = {file.parents[1].name for file in ROOT.glob("*/memshare*/__init__.py")}
    assert parts <= copied()
    named = [project["project"]["readme"], *project["project"]["license-files"]]
    assert all({one, one.partition("/")[0]} & copied() for one in named)


@pytest.mark.parametrize("path", [".git/config", ".venv/bin/python", "tests/conftest.py", "deploy/compose/.env"])
def test_nothing_else_is_sent_to_the_build(path: str) -> None:
    assert not sent_to_the_build(path)


def test_all_images_are_slim_and_run_as_nobody() -> None:
    found = stages()
    arguments = dict(value.partition("=")[::2] for value in instructions("ARG"))

    assert found["light"] == found["memory"] == found["full"] == "base"
    assert {base for base in found.values() if base not in found} == {"${BASE}"}
    assert re.fullmatch(r"python:3\.\d+-slim", arguments["BASE"])
    assert instructions("USER") == ["10001:10001"]
    assert instructions("ENTRYPOINT") == ['["tini", "--", "memshare"]']


def test_the_light_image_has_neither_torch_nor_an_encoder_nor_an_engine() -> None:
    light = {module for extra in extras_of("light") for module in MODULES.get(extra, ())}
    heavy = {
        "torch",
        "transformers",
        "sentence_transformers",
        "onnxruntime",
        "tokenizers",
        "qdrant_client",
        "qdrant_edge",
    }

    assert not light & heavy
    assert heavy <= {module for extra in extras_of("full") for module in MODULES.get(extra, ())}
    served = {module for extra in extras_of("memory") for module in MODULES.get(extra, ())}
    assert served & heavy == {"onnxruntime", "tokenizers", "qdrant_client", "qdrant_edge"}
    assert stages()["build-light"] == stages()["build-memory"] == "build"
    for image in ("light", "memory", "full"):
        assert f"--from=build-{image} /opt/memshare /opt/memshare" in instructions("COPY")


@pytest.mark.parametrize(
    ("image", "modules"),
    [
        (
            "light",
            [
                "memshare.worker",
                "memshare_agents.worker",
                "memshare_scorer.worker",
                "memshare_concepts.worker",
                "memshare.operate.flower",
                "memshare.cli.run.metrics",
                "memshare.cli.curate.memories",
                "memshare.cli.run.serve",
                "memshare.cli.run.token",
                "memshare.doors.server",
                "memshare_concepts.clusters",
                "memshare_concepts.gaps",
                "memshare_concepts.reviews",
            ],
        ),
        ("memory", ["memshare.worker", "memshare_memory.worker", "memshare.cli.run.backup"]),
        (
            "full",
            [
                "memshare.worker",
                "memshare_trainer.worker",
                "memshare.cli.learn.retriever_status",
                "memshare_concepts.gaps",
            ],
        ),
    ],
)
def test_what_an_image_runs_needs_no_package_that_it_lacks(image: str, modules: list[str]) -> None:
    there = {module for extra in extras_of(image) for module in MODULES.get(extra, ())}
    missing = {module for brought in MODULES.values() for module in brought} - there
    code = (
        f"from tests.support.light_install import hide; hide({missing!r})\n"
        f"from importlib import import_module; [import_module(one) for one in {modules!r}]"
    )

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)

    assert missing
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("image", "queues"), [("light", ["poem", "scorer", "concepts"]), ("memory", ["memory"]), ("full", ["trainer"])]
)
def test_an_image_has_what_serving_its_queues_asks_for(image: str, queues: list[str]) -> None:
    there = {module for extra in extras_of(image) for module in MODULES.get(extra, ())}
    missing = {module for brought in MODULES.values() for module in brought} - there
    code = (
        f"from tests.support.light_install import hide; hide({missing!r})\n"
        f"from memshare.cli.run.worker import require_for; require_for({queues!r})"
    )

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)

    assert done.returncode == 0, done.stderr


def test_what_has_the_encoder_has_its_export_where_the_memory_service_looks_for_it() -> None:
    exports, as_trainers = [value for value in instructions("COPY") if "/exports" in value]
    variables = dict(one.partition("=")[::2] for value in instructions("ENV") for one in value.split())

    assert exports.split()[-1] == f"{variables['MEMSHARE_DATA']}/exports"
    assert "--chown=10001:10001" in exports
    assert exports == as_trainers


def test_torch_is_the_one_that_the_tests_run_unless_told_otherwise() -> None:
    constraints = (ROOT / "constraints.txt").read_text()
    arguments = dict(value.partition("=")[::2] for value in instructions("ARG"))

    assert arguments["TORCH"] in constraints
    assert arguments["TORCH_INDEX"] == ""
    assert "://" not in DOCKERFILE.read_text()


@pytest.mark.parametrize("image", ["light", "memory", "full"])
def test_a_change_of_the_sources_installs_no_package_again_and_a_mirrors_configuration_stays_outside(
    image: str,
) -> None:
    text = DOCKERFILE.read_text().replace("\\\n", "")
    [stage] = re.findall(rf"^FROM build AS build-{image}\n(.*?)(?=^FROM )", text, re.M | re.S)
    downloads = [line for line in stage.splitlines() if "pip install" in line and "--no-index" not in line]

    assert stage.index("--require-hashes") < stage.index("COPY --from=wheel")
    assert "COPY src" not in stage
    assert downloads
    assert all("--mount=type=secret,id=pip,target=/etc/pip.conf" in line for line in downloads)


def healthy(heartbeat: Path) -> bool:
    [check] = instructions("HEALTHCHECK")
    command = check.partition("CMD ")[2]
    variables = os.environ | {"MEMSHARE_HEARTBEAT": str(heartbeat)}
    return subprocess.run(["sh", "-c", command], env=variables, stderr=subprocess.DEVNULL).returncode == 0


def test_the_health_check_believes_a_fresh_heartbeat_and_no_other(tmp_path: Path) -> None:
    heartbeat = tmp_path / "heartbeat"
    assert not healthy(heartbeat)

    heartbeat.touch()
    assert healthy(heartbeat)

    os.utime(heartbeat, (time.time() - 60,) * 2)
    assert not healthy(heartbeat)


def test_a_program_that_the_image_runs_is_in_it() -> None:
    installed = " ".join(instructions("RUN"))

    assert re.search(r"apt-get install [^&]*\btini\b", installed)
    assert installed.count("pip install --no-compile --no-deps --require-hashes") == 3
    assert all("otel" in extras_of(image) for image in ("light", "memory", "full"))
    assert "flower" in extras_of("light")


def test_make_images_builds_each_image_with_the_tag_of_this_version_that_compose_and_the_chart_ask_for() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    command = ["make", "--dry-run", "images", "ENGINE=engine", "BUILD=--build-arg A=b"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30, check=True).stdout
    pattern = rf"^engine build -f {DOCKERFILE.relative_to(ROOT)} --build-arg A=b --target (\w+) -t (\S+) \.$"
    built = dict(re.findall(pattern, said, re.M))
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    compose = (DEPLOY / "compose" / "compose.yaml").read_text()

    assert built == {
        "light": f"memshare:{version}", "memory": f"memshare:{version}-memory", "full": f"memshare:{version}-full",
    }  # fmt: skip
    assert len(said.splitlines()) == 3
    assert set(built) == {name for name in stages() if name in ("light", "memory", "full")}
    assert sorted(built.values()) == sorted(re.findall(r"\$\{MEMSHARE_\w*IMAGE:-(.*?)\}", compose))
    assert (chart["version"], chart["appVersion"]) == (version, version)
    assert yaml.safe_load(PRODUCTION.read_text())["image"]["tag"] == version
