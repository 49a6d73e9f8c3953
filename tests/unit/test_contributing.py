"""The table of CONTRIBUTING.md: whoever adds something finds in it every file that names things of that kind."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.support.deployment import ROOT

PACKAGES = sorted(
    path.parent
    for path in ROOT.glob("*/memshare*/__init__.py")
    if path.parts[len(ROOT.parts)] not in ("tests", "build", ".venv")
)
TABLE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ROWS = {
    one[1]: set(re.findall(r"\]\(([^)]+)\)", one[2])) for one in re.finditer(r"^\| ([^|]+) \| (.+) \|$", TABLE, re.M)
}


def names(row: str) -> set[Path]:
    """The files and folders that a row links."""
    return {ROOT / link for link in ROWS[row]}


def modules(folder: str, is_one: Callable[[str], object]) -> list[Path]:
    return [path for path in sorted((ROOT / folder).rglob("*.py")) if is_one(path.read_text(encoding="utf-8"))]


@cache
def imports() -> dict[tuple[str, str], set[Path]]:
    """By module and name: the product's files that import it from there."""
    found: defaultdict[tuple[str, str], set[Path]] = defaultdict(set)
    for path in (path for folder in PACKAGES for path in folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                for one in node.names:
                    found[node.module or "", one.name].add(path)
    return found


def importers(module: Path, name: str) -> set[Path]:
    package = next(one for one in PACKAGES if module.is_relative_to(one))
    return imports()[".".join(module.relative_to(package.parent).with_suffix("").parts), name]


def defined(module: Path, pattern: str) -> str:
    """The name in the pattern's first group."""
    found = re.search(pattern, module.read_text(encoding="utf-8"), re.M)
    assert found, f"{module} has nothing of the form {pattern}"
    return found[1]


KINDS = [
    ("an operator of the reasoning agent", "agents/memshare_agents/reasoning", r"^(\w+) = Operator\(", 3),
    ("a chat provider", "llm/memshare_llm/providers", r"^class (\w+Chat)\b", 2),
    ("a store", "memory_service/memshare_memory/stores", r"^class (\w+Store)\b", 2),
]


def test_whatever_the_table_links_is_there() -> None:
    assert len(ROWS) >= 13
    for row, links in ROWS.items():
        for link in links:
            assert (ROOT / link).exists(), f"{row}: {link}"


@pytest.mark.parametrize(("row", "folder", "pattern", "count"), KINDS, ids=[kind[0] for kind in KINDS])
def test_nothing_names_one_of_a_kind_but_what_its_row_links(row: str, folder: str, pattern: str, count: int) -> None:
    found = modules(folder, re.compile(pattern, re.M).search)

    assert len(found) == count
    for module in found:
        naming = importers(module, defined(module, pattern))
        assert naming, f"{module} is named nowhere"
        assert naming <= names(row), f"{row}: {module.name}"


def test_each_command_is_named_in_the_list_of_commands_alone() -> None:
    [listed] = (path for path in names("a command") if path.suffix == ".py")
    targets = re.findall(r'CommandPlace\(\s*"([\w.]+):(\w+)"', listed.read_text(encoding="utf-8"))

    assert len(targets) > 15
    for module, name in targets:
        path = listed.parent / f"{module.replace('.', '/')}.py"
        assert path.exists(), module
        others = {one for one in importers(path, name) if one.parent != path.parent}
        assert not others, f"{module}:{name}"


def test_make_runs_each_benchmark_but_those_that_need_a_model() -> None:
    bench = subprocess.run(
        ["make", "--dry-run", "bench"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    ).stdout
    with_json = [*modules("benchmarks", lambda text: '__name__ == "__main__"' in text and '"--json"' in text)]

    assert len(with_json) > 10
    for name in {path.parent.name if path.name == "__main__.py" else path.stem for path in with_json} - {
        "real",
        "stream",
    }:
        assert re.search(rf"\b{name}\b", bench), name
