"""A backup of an embedded pool is restored to a Qdrant server, and one of the server into a folder."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memshare_broker.settings import Settings
from memshare_memory.encoders.bundled import BUNDLED
from memshare_memory.stores.open_store import layout_in_use, open_store
from memshare_memory.stores.store import Where, every
from tests.support.deployment import ROOT, wait_for
from tests.support.qdrant_server import emptied
from tests.support.terminal import Terminal, end

MEMORIES = 600


@pytest.fixture
def server() -> Iterator[str]:
    with emptied() as url:
        yield url


def terminal_at(folder: Path, url: str | None = None) -> Terminal:
    terminal = Terminal(folder)
    if url:
        terminal.environment["MEMSHARE_QDRANT_URL"] = url
    return terminal


def memories_at(folder: Path, url: str | None = None) -> dict[str, Any]:
    settings = Settings(data=folder, qdrant_url=url)
    layout = layout_in_use(settings)
    assert layout is not None
    assert layout.encoder == BUNDLED
    with closing(open_store(settings, layout, "a test")) as store:
        return {str(one.id): one.model_dump(mode="json") for one in every(store, Where())}


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    """Of an embedded pool."""
    terminal = terminal_at(tmp_path / "first")
    pairs = [
        {"pool": "poem", "prompt": f"A limerick about tower {n}", "answer": f"Tower {n}."} for n in range(MEMORIES)
    ]
    seeds = tmp_path / "seeds.jsonl"
    seeds.write_text("\n".join(map(json.dumps, pairs)))
    process = terminal.up()
    terminal.run("memories", "import", str(seeds))
    terminal.run("backup", str(tmp_path / "one.zip"))
    end(process)
    return tmp_path / "one.zip"


def test_a_pool_goes_to_a_server_and_back_and_a_restore_that_is_killed_lets_nothing_start(
    backup: Path, server: str, tmp_path: Path
) -> None:
    wanted = memories_at(tmp_path / "first")
    second = terminal_at(tmp_path / "second", server)

    # Killed in the middle: what is there is not used before the restore is run again.
    command = [sys.executable, "-m", "memshare", "restore", str(backup)]
    killed = subprocess.Popen(command, cwd=ROOT, env=second.environment, start_new_session=True)
    settings = Settings(data=tmp_path / "second", qdrant_url=server)

    def has_begun() -> bool:
        if killed.poll() is not None or layout_in_use(settings) is None:
            return killed.poll() is not None
        return bool(memories_at(tmp_path / "second", server))

    wait_for(lambda: has_begun(), 60, "some memories to be there")
    killed.send_signal(signal.SIGSTOP)
    in_the_middle = killed.poll() is None and len(memories_at(tmp_path / "second", server)) < MEMORIES
    killed.send_signal(signal.SIGKILL if in_the_middle else signal.SIGCONT)
    killed.wait(60)
    if in_the_middle:
        assert "broken off" in second.run("up", "--flower-port", "0", "--port", "0", code=1).stderr
    restored = second.json("restore", str(backup), *([] if in_the_middle else ["--replace", "--yes"]))
    assert restored["memories"] == MEMORIES
    assert memories_at(tmp_path / "second", server) == wanted

    # And back, from the server into a folder.
    process = second.up()
    second.run("memories", "add", "An echo.", "--pool", "poem")
    again = tmp_path / "two.zip"
    second.run("backup", str(again))
    end(process)
    third = terminal_at(tmp_path / "third")
    assert third.json("restore", str(again))["memories"] == MEMORIES + 1
    assert memories_at(tmp_path / "third").items() > wanted.items()
