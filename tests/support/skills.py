"""The open Agent Skills format (https://agentskills.io/specification): what a SKILL.md must begin with."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

OPTIONAL = {"license": str, "compatibility": str, "metadata": dict, "allowed-tools": str}


def read_skill(folder: Path) -> tuple[dict[str, Any], str]:
    """The front matter and the body of a skill; asserts all that the format asks of them."""
    text = (folder / "SKILL.md").read_text(encoding="utf-8")
    found = re.fullmatch(r"---\n(.*?)\n---\n\n(.+)", text, re.S)
    assert found, "front matter, an empty line, then the body"
    head, body = yaml.safe_load(found[1]), found[2]
    assert isinstance(head, dict)
    assert head["name"] == folder.name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", head["name"])
    assert len(head["name"]) <= 64
    assert 1 <= len(head["description"].strip()) <= len(head["description"]) <= 1024
    assert head.keys() <= {"name", "description", *OPTIONAL}
    assert all(isinstance(head[name], kind) for name, kind in OPTIONAL.items() if name in head)
    assert 1 <= len(head.get("compatibility", "x")) <= 500
    return head, body
