"""`memshare up` has agents answer what a pool lacks, every so many hours, without anybody who asks for it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from memshare_concepts.flashcards import flashcard_memories
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.deployment import wait_for
from tests.support.terminal import Terminal, children_of, end

QUESTION = "Why is amber so old?"


def test_up_explores_the_named_pool_again_and_again_within_the_days_calls_and_at_low_priority(tmp_path: Path) -> None:
    niceness: set[int] = set()
    terminal = Terminal(tmp_path)

    def model(body: dict[str, Any]) -> Answer:
        if body.get("response_format", {}).get("json_schema", {}).get("name") != "NewQuestions":
            return Answer()
        niceness.update(os.getpriority(os.PRIO_PROCESS, pid) for pid in exploring(tmp_path))
        return Answer(text=json.dumps({"questions": [QUESTION]}))

    with serving(model) as chat:
        terminal.environment |= {
            "OPENAI_BASE_URL": chat.url,
            "OPENAI_API_KEY": "test",
            "MEMSHARE_MODEL": "openai:scripted",
            "MEMSHARE_EXPLORE": "plan",
            "MEMSHARE_EXPLORE_HOURS": "0.001",
            "MEMSHARE_EXPLORE_CALLS": "11",  # room for one question
        }
        process = terminal.up()
        log = tmp_path / "logs" / "explore-plan.log"
        wait_for(lambda: "No memory" in log.read_text(), 60, "a run that finds nothing to explore")
        cards = tmp_path / "cards.jsonl"
        cards.write_text("".join(f"{one.model_dump_json()}\n" for one in flashcard_memories("plan", 150)))
        terminal.run("memories", "import", str(cards))

        wait_for(
            lambda: "Nothing was asked: 1 of 1 questions" in log.read_text(), 120, "a run after the one that asked"
        )
        explored = terminal.json("memories", "list", "--pool", "plan", "--submitter", "explorer")
        end(process)

    assert [one["prompt"] for one in explored] == [QUESTION]
    assert niceness == {os.nice(0) + 10}
    assert children_of(tmp_path) == []


def exploring(data: Path) -> list[int]:
    """The processes that explore for a data folder."""
    return [
        int(folder.name)
        for folder in Path("/proc").glob("[0-9]*")
        if b"explore\0--pool" in (folder / "cmdline").read_bytes()
        and f"MEMSHARE_DATA={data}\0".encode() in (folder / "environ").read_bytes()
    ]
