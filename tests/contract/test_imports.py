"""The import contract of pyproject.toml holds, and breaks when an arrow is turned round."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {folder.name: folder.relative_to(ROOT) for folder in ROOT.glob("*/memshare*") if folder.is_dir()}
"""The folder of each package, such as agents/memshare_agents."""
PARTS = sorted(folder.parts[0] for folder in PACKAGES.values())
IMPORT_LINTER = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
CONTRACT = IMPORT_LINTER["contracts"][0]["name"]
[LIGHT] = [contract for contract in IMPORT_LINTER["contracts"] if "torch" in contract.get("forbidden_modules", ())]


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("lint-imports")
    return subprocess.run(
        [program, "--no-cache", "--no-logo"],
        cwd=folder,
        env=os.environ
        | {"COLUMNS": "200", "NO_COLOR": "1", "PYTHONPATH": os.pathsep.join(str(folder / part) for part in PARTS)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The packages and their contract, in a folder of the test's own."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for part in PARTS:
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_the_contract_is_about_every_package() -> None:
    packages = {file.parent.name for file in ROOT.glob("*/memshare*/__init__.py")}
    layers = {name for layer in IMPORT_LINTER["contracts"][0]["layers"] for name in layer.split("|")}

    assert packages == {name.strip() for name in layers} == set(IMPORT_LINTER["root_packages"]) == set(PACKAGES)


def test_the_tree_has_no_links() -> None:
    listed = subprocess.run(["git", "ls-files", "--stage"], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert [line for line in listed.splitlines() if line.startswith("120000")] == []


def test_imports_go_down_only() -> None:
    done = lint_imports(ROOT)

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{CONTRACT} KEPT" in done.stdout


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("memshare_broker", "memshare_scorer"),
        ("memshare_broker", "memshare"),
        ("memshare_llm", "memshare_memory"),
        ("memshare_memory", "memshare_agents"),
        ("memshare_agents", "memshare_scorer"),
        ("memshare_scorer", "memshare_agents"),
        ("memshare_trainer", "memshare_agents"),
        ("memshare_concepts", "memshare_scorer"),
        ("memshare_scorer", "memshare"),
    ],
)
def test_the_contract_breaks_when_an_arrow_is_turned_round(copy: Path, importer: str, imported: str) -> None:
    with (copy / PACKAGES[importer] / "__init__.py").open("a") as file:
        file.write(f"\nimport {imported}\n")

    done = lint_imports(copy)

    assert done.returncode == 1, done.stdout + done.stderr
    assert f"{CONTRACT} BROKEN" in done.stdout
    assert f"{importer} is not allowed to import {imported}" in done.stdout


def test_the_copy_is_not_broken_by_itself(copy: Path) -> None:
    done = lint_imports(copy)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("importer", ["memshare_agents/tasks", "memshare_llm/chat", "memshare_memory/door/client"])
def test_the_contract_breaks_when_what_agents_import_takes_torch(copy: Path, importer: str) -> None:
    package, _, module = importer.partition("/")
    with (copy / PACKAGES[package] / f"{module}.py").open("a") as file:
        file.write("\ndef late():\n    import torch\n")

    done = lint_imports(copy)

    assert done.returncode == 1, done.stdout + done.stderr
    assert f"{LIGHT['name']} BROKEN" in done.stdout
    assert "memshare_agents is not allowed to import torch" in done.stdout


@pytest.mark.parametrize(
    "module",
    [
        "memshare_agents.worker",
        "memshare_scorer.worker",
        "memshare.worker",
        "memshare.client.client",
        "memshare.cli.main",
    ],
)
def test_what_is_light_by_contract_is_light_in_a_process(module: str) -> None:
    code = f"import sys, {module}; print(*sys.modules)"

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, cwd=ROOT
    )

    loaded = set(done.stdout.split())
    assert module in loaded
    assert not loaded & {*LIGHT["forbidden_modules"], "numpy"}


@pytest.mark.parametrize(
    ("module", "slow"),
    [
        ("memshare_memory.worker", "qdrant_client"),  # for those whose pool is on a server
        ("memshare_trainer.consolidation.__main__", "torch"),  # a refusal needs none
    ],
)
def test_what_takes_seconds_to_import_is_imported_when_it_is_needed(module: str, slow: str) -> None:
    program = f"import sys, {module}; print({slow!r} in sys.modules)"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)

    assert done.stdout == "False\n"
