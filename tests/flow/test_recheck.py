"""Workers check memories again by themselves, and hide what is valid no longer."""

from __future__ import annotations

import time
from pathlib import Path

from memshare_broker.connection import connect
from memshare_broker.settings import Settings
from memshare_memory.curate.requests import NewMemory
from memshare_scorer.recheck import RECHECKS
from memshare_scorer.rubric import read_rubric
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.deployment import deployed, empty, wait_for

AGENT = 'description = "Adds."\npool = "sums"\nrubric = "sums"\ninstructions = "Add."\n'
RUBRIC = """\
domain = "Sums."
threshold = 50

[[criteria]]
name = "right"
points = 100
description = "The sum is right."
check = "sums:right"
"""
MODULE = """\
KNOWN = {"1+1": "2", "2+2": "%s", "3+3": "6"}

def right(prompt, answer):
    return answer == KNOWN[prompt] if prompt in KNOWN else None
"""


def folder_of(agents: Path) -> Path:
    agents.mkdir()
    (agents / "sums.toml").write_text(AGENT)
    (agents / "sums.py").write_text(MODULE % 4)
    file = agents / "sums.rubric.toml"
    file.write_text(RUBRIC)
    version = read_rubric(file).version
    file.write_text(f'{RUBRIC}\n[approval]\nby = "Ada"\non = 2026-11-27\nversion = "{version}"\n')
    return agents


def test_a_check_that_has_changed_is_run_on_what_is_stored_and_what_fails_is_hidden_without_a_model(
    redis_folder: Path, tmp_path: Path
) -> None:
    settings = Settings(data=redis_folder, model="openai:scripted", agents_dir=folder_of(tmp_path / "agents"))
    empty(redis_folder)
    more = {"MEMSHARE_AGENTS_DIR": str(settings.agents_dir)}
    with (
        serving(lambda _: Answer(text="2")) as chat,
        deployed(settings, chat, tmp_path, [("sums",), ("scorer",), ("memory",)], **more) as running,
        connect(settings.redis) as client,
    ):
        # 1. An answer is graded by the check as it is, and the scorer has seen the pool.
        task = running.client.submit("sums", "1+1")
        assert running.settled(task.id).outcome == "stored"
        memories = running.client.memories
        pairs = [NewMemory(pool="sums", prompt=sum_, answer=answer) for sum_, answer in (("2+2", "4"), ("3+3", "6"))]
        wrong, right = memories.add([*pairs, NewMemory(pool="sums", prompt="9+9", answer="18")])[:2]
        wait_for(lambda: client.hexists(RECHECKS, "sums"), 60, "the scorer to see the pool")
        asked = len(chat.requests)

        # 2. The check changes: the scorer runs it as it is now, though its processes had imported the older one.
        (settings.agents_dir or tmp_path).joinpath("sums.py").write_text(MODULE % 5)
        wait_for(lambda: memories.get(wrong).status == "hidden", 90, "what fails now to be hidden")
        assert (memories.get(right).status, memories.get(wrong).score) == ("active", 0)
        assert len(chat.requests) == asked
        assert "recheck" in running.log(["scorer"])

        # 3. What is valid until now is hidden soon.
        [fair] = memories.add([NewMemory(pool="sums", answer="The fair is open.", valid_until=time.time() + 1)])
        assert memories.get(fair).status == "active"
        wait_for(lambda: memories.get(fair).why_hidden, 60, "its time to be over")
