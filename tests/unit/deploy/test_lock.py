"""The packages of the images: each is locked with its hashes, and with a version that pyproject.toml takes."""

from __future__ import annotations

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from memshare.cli.main import COMMANDS
from memshare.extras import BRINGS
from tests.unit.deploy.chart import DEPLOY
from tests.unit.deploy.test_image import extras_of

FOLDER, GUIDE = DEPLOY / "image", DEPLOY / "README.md"
IMAGES = ("light", "memory", "full")
BY_ITSELF = {"torch"}
"""What the Dockerfile installs as it is asked to."""


def locked(image: str) -> dict[str, str]:
    """Each locked package with its version; every one has a hash."""
    entries = re.split(r"\n(?=\S)", (FOLDER / f"{image}.lock").read_text().strip())
    assert all("--hash=sha256:" in one for one in entries)
    return dict(one.split(" ", 1)[0].split("==") for one in entries)


def wanted(image: str) -> list[Requirement]:
    """What pyproject.toml asks for in an image."""
    project = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]
    texts = [*project["dependencies"]]
    for extra in extras_of(image):
        texts += project["optional-dependencies"][extra]
    found = [Requirement(one) for one in texts]
    return [one for one in found if one.name != "memshare" and (one.marker is None or one.marker.evaluate())]


@pytest.mark.parametrize("image", IMAGES)
def test_every_package_is_locked_in_a_version_that_is_asked_for(image: str) -> None:
    there = locked(image)

    for one in wanted(image):
        if one.name in BY_ITSELF:
            assert one.name not in there
            continue
        name = canonicalize_name(one.name)
        assert name in there, f"{name} is not in {image}.lock: run deploy/image/lock"
        assert one.specifier.contains(there[name]), f"{name} {there[name]} of {image}.lock: run deploy/image/lock"


def test_a_package_has_the_same_version_in_every_image() -> None:
    light, memory, full = map(locked, IMAGES)

    for one, other in ((light, full), (memory, full), (light, memory)):
        assert {name for name in one.keys() & other.keys() if one[name] != other[name]} == set()


@pytest.mark.parametrize("image", IMAGES)
def test_a_lock_names_no_index(image: str) -> None:
    assert "://" not in (FOLDER / f"{image}.lock").read_text()


def test_the_memory_service_is_locked_without_torch_and_what_exports() -> None:
    assert not locked("memory").keys() & {
        "torch",
        "transformers",
        "sentence-transformers",
        "scipy",
        "scikit-learn",
        "onnx",
    }


def test_what_the_guide_runs_in_the_memory_services_container_needs_no_package_that_it_lacks() -> None:
    asked = [name for name in re.findall(r"-c '[^']*memshare (\w+)", GUIDE.read_text()) if name in COMMANDS]

    assert set(asked) == {"backup", "restore"}
    for name in asked:
        extra = COMMANDS[name].extra
        assert extra is None or {extra, *BRINGS.get(extra, ())} <= set(extras_of("memory")), name
