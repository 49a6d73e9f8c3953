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
IMPORT_LINTER = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
CONTRACT = IMPORT_LINTER["contracts"][0]["name"]
LIGHT = IMPORT_LINTER["contracts"][-1]


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("lint-imports")
    return subprocess.run(
        [program, "--no-cache", "--no-logo"],
        cwd=folder,
        env=os.environ | {"COLUMNS": "200", "NO_COLOR": "1", "PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The packages and their contract, in a folder of the test's own."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    # The links to the parts become folders.
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_the_contract_is_about_every_package() -> None:
    packages = {file.parent.name for file in ROOT.glob("*/__init__.py")}
    linked = {link.name for link in (ROOT / "src" / "memshare").iterdir() if link.is_symlink()}
    layers = {name for layer in IMPORT_LINTER["contracts"][0]["layers"] for name in layer.replace(":", "|").split("|")}

    assert packages == linked
    assert {f"memshare.{name}" for name in packages} <= {name.strip() for name in layers}


def test_imports_go_down_only() -> None:
    done = lint_imports(ROOT)

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{CONTRACT} KEPT" in done.stdout


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("broker", "scorer"),
        ("broker", "client"),
        ("llm", "memory_service"),
        ("memory_service", "agents"),
        ("agents", "scorer"),
        ("scorer", "agents"),
        ("retriever_trainer", "agents"),
        ("concepts", "scorer"),
        ("scorer", "client"),
    ],
)
def test_the_contract_breaks_when_an_arrow_is_turned_round(copy: Path, importer: str, imported: str) -> None:
    with (copy / "src" / "memshare" / importer / "__init__.py").open("a") as file:
        file.write(f"\nimport memshare.{imported}\n")

    done = lint_imports(copy)

    assert done.returncode == 1, done.stdout + done.stderr
    assert f"{CONTRACT} BROKEN" in done.stdout
    assert f"memshare.{importer} is not allowed to import memshare.{imported}" in done.stdout


def test_the_copy_is_not_broken_by_itself(copy: Path) -> None:
    done = lint_imports(copy)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("importer", ["agents/tasks", "llm/chat", "memory_service/door/client"])
def test_the_contract_breaks_when_what_agents_import_takes_torch(copy: Path, importer: str) -> None:
    with (copy / "src" / "memshare" / f"{importer}.py").open("a") as file:
        file.write("\ndef late():\n    import torch\n")

    done = lint_imports(copy)

    assert done.returncode == 1, done.stdout + done.stderr
    assert f"{LIGHT['name']} BROKEN" in done.stdout
    assert "memshare.agents is not allowed to import torch" in done.stdout


@pytest.mark.parametrize("module", ["agents.worker", "scorer.worker", "worker", "client", "cli"])
def test_what_is_light_by_contract_is_light_in_a_process(module: str) -> None:
    code = f"import sys, memshare.{module}; print(*sys.modules)"

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, cwd=ROOT
    )

    loaded = set(done.stdout.split())
    assert f"memshare.{module}" in loaded
    assert not loaded & {*LIGHT["forbidden_modules"], "numpy"}


@pytest.mark.parametrize(
    ("module", "slow"),
    [
        ("memshare.memory_service.worker", "qdrant_client"),  # for those whose pool is on a server
        ("memshare.retriever_trainer.consolidation.__main__", "torch"),  # a refusal needs none
    ],
)
def test_what_takes_seconds_to_import_is_imported_when_it_is_needed(module: str, slow: str) -> None:
    program = f"import sys, {module}; print({slow!r} in sys.modules)"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)

    assert done.stdout == "False\n"
