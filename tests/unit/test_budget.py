"""No room of the house grows beyond its budget, and where one has shrunk its budget shrinks with it: budget.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUDGET = ROOT / "budget.toml"
PACKAGES = sorted(one.parent for one in ROOT.glob("*/memshare*/__init__.py"))
ABOVE = 0.05  # of a budget that may be left


def rooms() -> dict[str, list[Path]]:
    """The Python files of each room: a folder in a package or in tests, or the files beside these folders."""
    found: dict[str, list[Path]] = {}
    for top in (*PACKAGES, ROOT / "tests", ROOT / "tests" / "unit"):
        for one in sorted(top.iterdir()):
            if one.is_dir() and one != ROOT / "tests" / "unit" and (files := sorted(one.rglob("*.py"))):
                found[str(one.relative_to(ROOT))] = files
        if files := sorted(top.glob("*.py")):
            found[str(top.relative_to(ROOT))] = files
    return found


ROOMS = rooms()


def budgets() -> Iterator[tuple[str, int, int]]:
    """Each room's name, lines and files."""
    for name, one in tomllib.loads(BUDGET.read_text(encoding="utf-8")).items():
        yield name, one["lines"], one["files"]


def test_every_room_has_a_budget() -> None:
    assert {name for name, _, _ in budgets()} == ROOMS.keys(), "name new rooms in budget.toml, and no others"


@pytest.mark.parametrize(("room", "lines", "files"), list(budgets()))
def test_a_room_keeps_to_its_budget(room: str, lines: int, files: int) -> None:
    has = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in ROOMS.get(room, ()))
    number = len(ROOMS.get(room, ()))

    assert has <= lines, f"{room} has {has} lines: take some away, or say in budget.toml why it may grow"
    assert number <= files, f"{room} has {number} files"
    assert has >= lines * (1 - ABOVE), f"{room} has {has} lines only: lower its budget"
    assert number >= files * (1 - ABOVE), f"{room} has {number} files only: lower its budget"
