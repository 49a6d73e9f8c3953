"""The image: what it copies is there, it is nobody's root, and its health check asks the worker."""

from __future__ import annotations

import os
import re
import subprocess
import time
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest
from dockerfile_parse import DockerfileParser

from tests.unit.deploy.chart import DEPLOY

ROOT = DEPLOY.parent
DOCKERFILE = DEPLOY / "image" / "Dockerfile"


def instructions(name: str) -> list[str]:
    """The values of one instruction in the order of the file."""
    with DOCKERFILE.open("rb") as file:
        return [one["value"] for one in DockerfileParser(fileobj=file).structure if one["instruction"] == name]


def copied() -> set[str]:
    return {source for value in instructions("COPY") if not value.startswith("--from") for source in value.split()[:-1]}


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

    packages = {file.parent.name for file in ROOT.glob("*/__init__.py")}
    assert {"src", *packages} <= copied()
    assert project["project"]["readme"] in copied()


@pytest.mark.parametrize("path", [".git/config", ".venv/bin/python", "tests/conftest.py", "deploy/compose/.env"])
def test_nothing_else_is_sent_to_the_build(path: str) -> None:
    assert not sent_to_the_build(path)


def test_the_last_stage_is_slim_and_runs_as_nobody() -> None:
    assert all(base.startswith("python:") and "-slim" in base for base in instructions("FROM"))
    assert len(instructions("FROM")) == 2
    assert instructions("USER") == ["10001:10001"]
    assert instructions("ENTRYPOINT") == ['["tini", "--", "memshare"]']


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
    assert 'pip install -c constraints.txt ".[otel]"' in installed
