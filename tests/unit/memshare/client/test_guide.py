"""The commands of docs/doors.md and of the skill do what they say, as they stand there."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from memshare.operations.backend import Backend
from tests.support.deployment import ROOT

PAGES = ("docs/doors.md", "skills/memshare/SKILL.md")


@pytest.mark.parametrize("page", PAGES)
def test_the_three_calls_by_curl(page: str, url: str, backend: Backend, shelf: dict[str, str]) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    [block] = [one for one in re.findall(r"```sh\n(.*?)```", text, re.S) if "/v1/recall" in one]
    define, *calls = re.split(r"^(?=ask /|ask \"/)", block, flags=re.M)
    token = backend.tokens.create("ada", ("recall", "offer"), ("logic",))
    define = define.replace("http://127.0.0.1:8780", url).replace("msh_ada_…", token)
    names = {"RECALL_ID": "", "/ID": "", '"ID"': "", "wait=30": "wait=0"}
    said = []

    for call in calls:
        for name, value in names.items():
            call = call.replace(name, value) if value else call
        done = subprocess.run(["sh", "-euc", define + call], capture_output=True, text=True, check=True, timeout=30)
        said.append(json.loads(done.stdout))
        names["RECALL_ID"] = names["RECALL_ID"] or said[-1]["recall_id"]
        if "id" in said[-1]:
            names |= {"/ID": f"/{said[-1]['id']}", '"ID"': f'"{said[-1]["id"]}"'}

    recalled, accepted, told, journey = said
    assert [one["id"] for one in recalled["memories"]] == [shelf["logic"]]
    assert "taken" in told
    assert recalled["messages"][-1]["content"] == "A light."
    assert (journey["id"], journey["answer"], journey["ended"]) == (accepted["id"], "A piano.", False)
    assert journey["recall_id"] == recalled["recall_id"]
