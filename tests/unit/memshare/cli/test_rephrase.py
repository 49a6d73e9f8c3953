"""`memshare memories rephrase`: the real command line, door and Redis, with a scripted model."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from memshare.cli.curate.rephrase import differing
from memshare_broker.settings import Settings
from memshare_memory.curate.requests import NewMemory
from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import Memory
from tests.support.chat_script import Answer
from tests.support.chat_server import ChatServer, serving
from tests.support.deployment import ROOT
from tests.support.terminal import Terminal

REPLY = {"why": "It is [red]one[/red] sentence.", "prompt": "What is a mast?", "answer": "It is a pole."}


@pytest.fixture
def chat() -> Iterator[ChatServer]:
    with serving(lambda _body: Answer(text=json.dumps(REPLY))) as server:
        yield server


@pytest.fixture
def terminal(settings: Settings, memory: MemoryClient, tmp_path: Path, chat: ChatServer) -> Terminal:
    memory.stats()
    terminal = Terminal(tmp_path)
    terminal.environment |= {
        "MEMSHARE_REDIS_URL": settings.redis,
        "MEMSHARE_MODEL": "openai:scripted",
        "OPENAI_BASE_URL": chat.url,
        "OPENAI_API_KEY": "test",
    }
    return terminal


@pytest.fixture
def pair(memory: MemoryClient) -> Memory:
    new = NewMemory(pool="plan", prompt="what mast", answer="Its a pole.", submitter="eve", score=90, new_pool=True)
    return memory.get(memory.add([new])[0])


def typed(terminal: Terminal, answer: str, *words: str) -> str:
    """What a command says at a real terminal where a person types an answer."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "memshare", *words],
        cwd=ROOT, env=terminal.environment, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    os.close(theirs)
    os.write(ours, f"{answer}\n".encode())
    said, _ = process.communicate(timeout=60)
    os.close(ours)
    assert process.returncode == 0, said
    return said


def test_a_person_sees_old_and_new_beside_each_other_and_what_they_take_is_an_edit_with_history(
    terminal: Terminal, memory: MemoryClient, pair: Memory
) -> None:
    kept = typed(terminal, "n", "memories", "rephrase", str(pair.id)[:8])
    assert memory.get(pair.id) == pair

    said = typed(terminal, "y", "memories", "rephrase", str(pair.id)[:8], "--by", "ada")

    assert "Nothing was changed." in kept
    [row] = [line for line in said.splitlines() if "what mast" in line]
    assert "What is a mast?" in row
    assert "It is [red]one[/red] sentence." in said
    changed = memory.get(pair.id)
    assert (changed.prompt, changed.answer, changed.score) == ("What is a mast?", "It is a pole.", None)
    [revision] = changed.history
    assert (revision.prompt, revision.answer, revision.by, revision.score) == ("what mast", "Its a pole.", "ada", 90)
    assert "ada" in json.dumps(terminal.json("budget", "show"))


def test_nobody_is_asked_where_nobody_can_answer_and_nothing_is_changed_without_a_yes(
    terminal: Terminal, memory: MemoryClient, pair: Memory, chat: ChatServer
) -> None:
    shown = terminal.run("memories", "rephrase", str(pair.id)).stdout
    told = terminal.json("memories", "rephrase", str(pair.id))

    assert f"Nothing was changed. `memshare memories edit {str(pair.id)[:8]}`" in shown
    assert "What is a mast?" in shown
    assert (told["old"]["prompt"], told["new"]["prompt"], told["changed"]) == ("what mast", "What is a mast?", False)
    assert memory.get(pair.id) == pair
    assert len(chat.requests) == 2, "one call each"

    assert terminal.json("memories", "rephrase", str(pair.id), "--yes")["changed"] is True
    assert memory.get(pair.id).prompt == "What is a mast?"


def test_without_a_model_it_says_that_it_needs_one(terminal: Terminal, memory: MemoryClient, pair: Memory) -> None:
    terminal.environment["MEMSHARE_MODEL"] = "offline"

    refused = terminal.run("memories", "rephrase", str(pair.id), "--yes", code=2).stderr

    assert "needs a chat model" in refused
    assert "MEMSHARE_MODEL=openai:qwen3" in refused
    assert memory.get(pair.id) == pair


def test_an_unknown_memory_costs_no_call(terminal: Terminal, chat: ChatServer) -> None:
    refused = terminal.run("memories", "rephrase", str(UUID(int=7)), code=2).stderr

    assert "No memory has the id" in refused
    assert chat.requests == []


def test_what_goes_is_red_and_what_comes_is_green_word_by_word() -> None:
    old, new = differing("what is mast now", "what is a mast")

    assert (old.plain, new.plain) == ("what is mast now", "what is a mast")
    assert [old.plain[span.start : span.end].split() for span in old.spans] == [["now"]]
    assert [new.plain[span.start : span.end].split() for span in new.spans] == [["a"]]
    assert [str(span.style) for span in (*old.spans, *new.spans)] == ["red strike", "green"]
