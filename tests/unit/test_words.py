"""The words of docstrings and of local names: nouns and verbs of the field, and no clause or word that says nothing."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.support.deployment import ROOT

PACKAGES = ("agents", "broker", "concepts", "llm", "memory_service", "retriever_trainer", "scorer", "src")
CLAUSES = ("What", "Whether", "That", "Those", "One")
MEMORY = [f"memory_service/memshare_memory/{room}" for room in (
    "belief", "contradictions.py", "door", "encoders", "recall", "stores",
)]  # fmt: skip
NAMED = {"one": (*MEMORY, "broker", "concepts", "retriever_trainer"), "kept": (*MEMORY,)}
"""Names that say nothing, with the rooms that have none of them; a room that loses its last one comes in."""


@pytest.mark.parametrize("package", PACKAGES)
def test_no_docstring_begins_with_a_clause(package: str) -> None:
    found = [f"{file.relative_to(ROOT)}:{line}: {first}" for file in (ROOT / package).rglob("*.py")
             for line, first in begun(file) if first.strip(".,:;") in CLAUSES]  # fmt: skip

    assert found == [], "Begin with what it is or does: “Number of …”, “True if …”, “Count …”"


@pytest.mark.parametrize(("name", "room"), [(name, room) for name, rooms in NAMED.items() for room in rooms])
def test_a_local_name_says_what_it_is(name: str, room: str) -> None:
    files = [ROOT / room] if room.endswith(".py") else [*(ROOT / room).rglob("*.py")]
    found = [f"{file.relative_to(ROOT)}:{node.lineno}" for file in files
             for node in ast.walk(ast.parse(file.read_text("utf-8"))) if bound(node) == name]  # fmt: skip

    assert files
    assert found == [], f"Call it what it is, such as memory, task, pair or row, and not {name!r}"


def bound(node: ast.AST) -> str | None:
    """The name of a parameter, or of a variable where it is given a value."""
    if isinstance(node, ast.arg):
        return node.arg
    return node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else None


def begun(file: Path) -> list[tuple[int, str]]:
    """Line and first word of every docstring, those of attributes too."""
    bodies = [getattr(node, "body", None) for node in ast.walk(ast.parse(file.read_text("utf-8")))]
    texts = [one for body in bodies if isinstance(body, list) for one in body if isinstance(one, ast.Expr)]
    values = [(one.lineno, one.value.value) for one in texts if isinstance(one.value, ast.Constant)]
    return [(line, text.split(None, 1)[0]) for line, text in values if isinstance(text, str)]
