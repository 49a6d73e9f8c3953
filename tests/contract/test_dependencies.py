"""Every package that is imported is declared in pyproject.toml, in the extra that `memshare.extras` names."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from memshare.extras import BRINGS, MODULES

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
OUR_OWN = {"benchmarks", "tests", *(folder.name for folder in ROOT.glob("*/memshare*"))}
PART_OF = {"pydantic-core": "pydantic"}
"""Distributions that belong to another one, which names their exact version."""
NOT_INSTALLED = {
    "mem0": ["mem0ai"],
    "graphiti_core": ["graphiti-core"],
    "peft": ["peft"],
    "reasoning_gym": ["reasoning-gym"],
    "presidio_analyzer": ["presidio-analyzer"],
    "presidio_anonymizer": ["presidio-anonymizer"],
}
"""What tests are run without: what only benchmarks need, and what loads a model of half a gigabyte."""


def named(requirements: Iterable[str]) -> set[str]:
    """The distributions that some requirements name, extras of memshare followed."""
    found: set[str] = set()
    for requirement in requirements:
        name = re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0]
        if name == "memshare":
            extras = requirement.partition("[")[2].partition("]")[0]
            found |= named(one for extra in extras.split(",") for one in EXTRAS[extra.strip()])
        else:
            found.add(_plain(name))
    return found


def brought_by(*extras: str) -> set[str]:
    return named([*PROJECT["dependencies"], *(one for extra in extras for one in EXTRAS[extra])])


def imports_of(*folders: str) -> dict[str, set[str]]:
    """The files that import each package which is neither Python's nor ours."""
    found: dict[str, set[str]] = {}
    for folder in folders:
        for file in (ROOT / folder).rglob("*.py"):
            for name in _imported(file):
                package = name.partition(".")[0]
                if package not in sys.stdlib_module_names | OUR_OWN:
                    found.setdefault(package, set()).add(str(file.relative_to(ROOT)))
    return found


def _imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module


def distributions_of(package: str) -> set[str]:
    found = {_plain(name) for name in _distributions().get(package, NOT_INSTALLED.get(package, []))}
    return {PART_OF.get(name, name) for name in found}


_distributions = cache(packages_distributions)


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


PRODUCT = sorted(file.parent.relative_to(ROOT).as_posix() for file in ROOT.glob("*/memshare*/__init__.py"))


@pytest.mark.parametrize(
    ("folders", "extras"),
    [
        (
            PRODUCT,
            ["evaluate", "otel", "langgraph", "openai-agents", "pydantic-ai", "langchain", "dspy", "personal-data"],
        ),
        (["benchmarks"], ["bench"]),
        (["tests"], ["test"]),
    ],
    ids=["product", "benchmarks", "tests"],
)
def test_what_is_imported_is_declared(folders: list[str], extras: list[str]) -> None:
    declared = brought_by(*extras)

    imported = imports_of(*folders)

    assert "pydantic" in imported
    assert {package: files for package, files in imported.items() if not distributions_of(package) & declared} == {}


@pytest.mark.parametrize("extra", MODULES)
def test_an_error_names_an_extra_that_brings_the_module(extra: str) -> None:
    for module in MODULES[extra]:
        assert distributions_of(module) & named(one for one in EXTRAS[extra] if not one.startswith("memshare[")), module


def test_every_module_that_is_not_there_without_an_extra_is_known() -> None:
    light = brought_by()
    known = {module for modules in MODULES.values() for module in modules}

    missing = {package for package in imports_of(*PRODUCT) if not distributions_of(package) & light}

    assert missing <= known


def test_an_extra_brings_along_what_it_is_said_to() -> None:
    for extra, others in BRINGS.items():
        for other in others:
            assert named(EXTRAS[other]) <= named(EXTRAS[extra]), f"{extra} lacks {other}"
        assert named(EXTRAS[extra]) == named(
            one for part in (extra, *others) for one in EXTRAS[part] if not one.startswith("memshare[")
        )
