"""A name means one thing in the whole tree."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
MEANS_TWO_THINGS = {"Memory"}
"""A memory, and what a program opens to share them: `from memshare import Memory`."""


def test_no_public_class_has_the_name_of_another_one() -> None:
    files = defaultdict(list)
    for package in ROOT.glob("*/memshare*/"):
        for file in package.rglob("*.py"):
            for node in ast.parse(file.read_text("utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    files[node.name].append(str(file.relative_to(ROOT)))

    assert len(files) > 500
    assert {name: found for name, found in files.items() if len(found) > 1 and name not in MEANS_TWO_THINGS} == {}
