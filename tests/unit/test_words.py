"""The words of docstrings: they begin with a noun or a verb, and not with a clause that a reader has to untangle."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.support.deployment import ROOT

PACKAGES = ("agents", "broker", "concepts", "llm", "memory_service", "retriever_trainer", "scorer", "src")
CLAUSES = ("What", "Whether", "That", "Those", "One")


@pytest.mark.parametrize("package", PACKAGES)
def test_no_docstring_begins_with_a_clause(package: str) -> None:
    found = [f"{file.relative_to(ROOT)}:{line}: {first}" for file in (ROOT / package).rglob("*.py")
             for line, first in begun(file) if first.strip(".,:;") in CLAUSES]  # fmt: skip

    assert found == [], "Begin with what it is or does: “Number of …”, “True if …”, “Count …”"


def begun(file: Path) -> list[tuple[int, str]]:
    """Line and first word of every docstring, those of attributes too."""
    bodies = [getattr(node, "body", None) for node in ast.walk(ast.parse(file.read_text("utf-8")))]
    texts = [one for body in bodies if isinstance(body, list) for one in body if isinstance(one, ast.Expr)]
    values = [(one.lineno, one.value.value) for one in texts if isinstance(one.value, ast.Constant)]
    return [(line, text.split(None, 1)[0]) for line, text in values if isinstance(text, str)]
