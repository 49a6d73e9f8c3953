"""The skill in the tree is in the open format, and every tool, command and call that it names is there."""

from __future__ import annotations

import inspect
import re
import tomllib

from memshare.operations.serving import SERVED, tools
from tests.support.deployment import ROOT
from tests.support.skills import read_skill
from tests.unit.test_command_blocks import NAMED, check_script

FOLDER = ROOT / "skills" / "memshare"
TEXT = (FOLDER / "SKILL.md").read_text(encoding="utf-8")
TOOLS = {tool.name: set(inspect.signature(tool.function).parameters) - {"backend", "caller"} for tool in tools()}


def test_the_skill_is_in_the_open_format_and_has_the_projects_licence() -> None:
    head, _ = read_skill(FOLDER)

    assert head["license"] == tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["license"]


def test_every_command_that_the_skill_names_is_there() -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```$", TEXT, re.M | re.S)

    assert any("memshare submit" in block for block in blocks)
    for block in blocks:
        check_script(block, whole=True)
    for named in NAMED.findall(TEXT):
        check_script(named, whole=False)


def test_every_tool_that_the_skill_names_is_there_and_takes_what_it_is_given() -> None:
    section = TEXT.split("## By MCP tools")[1].split("\n## ")[0]
    named = set(re.findall(r"`([a-z_]+)`", section))

    assert TOOLS.keys() <= named, "every tool is named"
    assert named <= TOOLS.keys() | set().union(*TOOLS.values())
    steps = re.findall(r"^\d\. Call (.+?[.]) ", section, re.M)
    assert len(steps) == 3
    for step in steps:
        tool, *given = re.findall(r"`([a-z_]+)`", step)
        assert set(given) <= TOOLS[tool], tool
    assert set(re.findall(r"`memshare://(\w+)`", section)) <= {"agents", "pools", "rubrics"}


def test_every_call_that_the_skill_names_is_there() -> None:
    named = set(re.findall(r"`(GET|POST) (/v1/[\w/]+)`", TEXT))

    assert named
    assert named <= {(call.verb, call.path) for call in SERVED}


def test_the_guide_for_coding_agents_is_short_and_leads_to_the_one_for_everybody() -> None:
    guide = (ROOT / "AGENTS.md").read_text(encoding="utf-8")

    assert "](CONTRIBUTING.md)" in guide
    assert len(guide.split()) < 200
    for named in re.findall(r"`make (\w+)`", guide):
        check_script(f"make {named}", whole=True)
