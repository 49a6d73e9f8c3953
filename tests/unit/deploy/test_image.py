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
from dockerfile_parse import DockerfileParser

from memshare.extras import BRINGS, MODULES
from tests.unit.deploy.chart import DEPLOY

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
    """The extras that an image installs, and those that they bring along."""
    stage, named = "", {}
    with DOCKERFILE.open("rb") as file:
        for one in DockerfileParser(fileobj=file).structure:
            if one["instruction"] == "FROM":
                stage = one["value"].split()[-1]
            elif found := re.search(r'"\.\[(.*?)\]"', one["value"]):
                named[stage] = found[1].split(",")
    return {one for extra in named[f"build-{image}"] for one in (extra, *BRINGS.get(extra, ()))}


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

    parts = {folder.parent.name for folder in ROOT.glob("*/memshare*") if folder.is_dir()}
    assert parts <= copied()
    assert project["project"]["readme"] in copied()


@pytest.mark.parametrize("path", [".git/config", ".venv/bin/python", "tests/conftest.py", "deploy/compose/.env"])
def test_nothing_else_is_sent_to_the_build(path: str) -> None:
    assert not sent_to_the_build(path)


def test_both_images_are_slim_and_run_as_nobody() -> None:
    found = stages()
    arguments = dict(value.partition("=")[::2] for value in instructions("ARG"))

    assert found["light"] == found["full"] == "base"
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
    assert stages()["build-light"] == "${BASE}"
    for image in ("light", "full"):
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
                "memshare.doors.app",
                "memshare_concepts.clusters.clustering",
                "memshare_concepts.gaps.gaps",
                "memshare_concepts.reviews.card",
            ],
        ),
        (
            "full",
            [
                "memshare.worker",
                "memshare_memory.worker",
                "memshare_trainer.worker",
                "memshare.cli.learn.retriever_status",
                "memshare_concepts.gaps.gaps",
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


def test_the_full_image_has_the_export_where_the_memory_service_looks_for_it() -> None:
    [exports] = [value for value in instructions("COPY") if "/exports" in value]
    variables = dict(one.partition("=")[::2] for value in instructions("ENV") for one in value.split())

    assert exports.split()[-1] == f"{variables['MEMSHARE_DATA']}/exports"
    assert "--chown=10001:10001" in exports


def test_torch_is_the_one_that_the_tests_run_unless_told_otherwise() -> None:
    constraints = (ROOT / "constraints.txt").read_text()
    arguments = dict(value.partition("=")[::2] for value in instructions("ARG"))

    assert arguments["TORCH"] in constraints
    assert arguments["TORCH_INDEX"] == ""
    assert "://" not in DOCKERFILE.read_text()


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
    assert installed.count("pip install -c constraints.txt") == 2
    assert all("otel" in extras_of(image) for image in ("light", "full"))
    assert "flower" in extras_of("light")
