"""The import contract of pyproject.toml holds, and breaks when an arrow is turned round."""

from __future__ import annotations

import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import grimp
import pytest
from importlinter.api import read_configuration
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.layers import LayersContract

ROOT = Path(__file__).parents[2]
PACKAGES = {file.parent.name for file in ROOT.glob("*/memshare*/__init__.py")}
CONFIGURATION = read_configuration(str(ROOT / "pyproject.toml"))
SESSION, CONTRACTS = CONFIGURATION["session_options"], CONFIGURATION["contracts_options"]
ARROWS = LayersContract(CONTRACTS[0]["name"], SESSION, CONTRACTS[0])
LIGHT, SEAM = (
    ForbiddenContract(contract["name"], SESSION, contract)
    for name in ("torch", "kombu")
    for contract in CONTRACTS
    if name in contract.get("forbidden_modules", ())
)


@pytest.fixture(scope="module")
def tree() -> grimp.ImportGraph:
    return grimp.build_graph(*SESSION["root_packages"], include_external_packages=True, cache_dir=None)


@pytest.fixture
def graph(tree: grimp.ImportGraph) -> grimp.ImportGraph:
    """The imports of the tree, in a copy of the test's own."""
    return deepcopy(tree)


def test_the_contract_is_about_every_package() -> None:
    packages = {file.parent.name for file in ROOT.glob("*/memshare*/__init__.py")}
    layers = {name.strip() for layer in CONTRACTS[0]["layers"] for name in layer.split("|")}

    assert packages == layers == set(SESSION["root_packages"]) == PACKAGES


def test_the_tree_has_no_links() -> None:
    listed = subprocess.run(["git", "ls-files", "--stage"], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert [line for line in listed.splitlines() if line.startswith("120000")] == []


def test_imports_go_down_only() -> None:
    program = Path(sys.executable).with_name("lint-imports")

    done = subprocess.run([program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(CONTRACTS)} kept, 0 broken" in done.stdout


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
def test_the_contract_breaks_when_an_arrow_is_turned_round(
    graph: grimp.ImportGraph, importer: str, imported: str
) -> None:
    assert ARROWS.check(graph, verbose=False).kept

    graph.add_import(importer=importer, imported=imported)

    assert not ARROWS.check(graph, verbose=False).kept


@pytest.mark.parametrize("importer", ["memshare_agents.tasks", "memshare_llm.chat", "memshare_memory.door.client"])
def test_the_contract_breaks_when_what_agents_import_takes_torch(graph: grimp.ImportGraph, importer: str) -> None:
    assert LIGHT.check(deepcopy(graph), verbose=False).kept

    graph.add_import(importer=importer, imported="torch")

    assert not LIGHT.check(graph, verbose=False).kept


@pytest.mark.parametrize("imported", ["celery", "kombu", "memshare_broker.delivery.schema"])
def test_the_contract_breaks_when_the_queues_are_named_outside_the_broker(
    graph: grimp.ImportGraph, imported: str
) -> None:
    assert SEAM.check(deepcopy(graph), verbose=False).kept
    assert {*SEAM.contract_options["source_modules"]} == PACKAGES - {"memshare_broker"}

    graph.add_import(importer="memshare_llm.batches", imported=imported)

    assert not SEAM.check(graph, verbose=False).kept


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
    assert not loaded & {*LIGHT.contract_options["forbidden_modules"], "numpy"}


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
