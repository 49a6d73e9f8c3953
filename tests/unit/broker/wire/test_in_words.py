"""Whoever gives a text that does not fit a pattern reads in words what was expected, and no regular expression."""

from __future__ import annotations

import ast

from tests.support.deployment import ROOT

PACKAGES = ("agents", "broker", "concepts", "llm", "memory_service", "retriever_trainer", "scorer", "src")


def test_each_pattern_of_a_field_is_told_in_words() -> None:
    files = [file for package in PACKAGES for file in (ROOT / package).rglob("*.py")]
    trees = {file: ast.parse(file.read_text("utf-8")) for file in files}
    patterns = {(file, node.lineno) for file, tree in trees.items() for node in ast.walk(tree) if has_pattern(node)}
    told = {
        (file, call.lineno)
        for file, tree in trees.items()
        for form in ast.walk(tree)
        if isinstance(form, ast.Subscript) and any(name_of(one) == "InWords" for one in ast.walk(form.slice))
        for call in ast.walk(form.slice)
        if has_pattern(call)
    }

    assert len(patterns) >= 8
    assert patterns - told == set(), "Write Annotated[…, Field(pattern=…), InWords('what is expected')]"


def has_pattern(node: ast.AST) -> bool:
    named = name_of(node) in ("Field", "StringConstraints")
    return named and isinstance(node, ast.Call) and any(one.arg == "pattern" for one in node.keywords)


def name_of(node: ast.AST) -> str:
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
