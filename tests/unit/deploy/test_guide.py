"""The guide names what there is."""

from __future__ import annotations

import re

import typer

from memshare.cli import app
from tests.unit.deploy.chart import DEPLOY
from tests.unit.deploy.queries import rules

GUIDE = (DEPLOY / "README.md").read_text(encoding="utf-8")


def commands(group: typer.core.TyperGroup, before: str = "") -> set[str]:
    """Every command and group, by the words that call it."""
    found: set[str] = set()
    for name, command in group.commands.items():
        found.add(before + name)
        if isinstance(command, typer.core.TyperGroup):
            found |= commands(command, f"{before}{name} ")
    return found


def test_every_link_leads_to_a_file() -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", GUIDE)

    assert len(links) > 5
    for link in links:
        assert (DEPLOY / link).exists(), link


def test_every_command_that_the_guide_and_the_alerts_name_is_there() -> None:
    known = commands(typer.main.get_command(app))
    texts = [GUIDE, *(rule["annotations"]["action"] for rule in rules())]
    named = {one for text in texts for one in re.findall(r"(?:`|^)memshare ((?:[a-z]+ ?){1,2})", text, re.M)}

    assert len(named) > 5
    for words in named:
        first, _, second = words.strip().partition(" ")
        assert first in known, words
        if any(one.startswith(f"{first} ") for one in known) and second:
            assert f"{first} {second}" in known, words
