"""A backup of an embedded pool is restored to a Qdrant server, and one of the server into a folder."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import QdrantClient
from qdrant_client.http.exceptions import UnexpectedResponse

from memshare_broker.settings import Settings
from memshare_memory.encoders.encoder import BUNDLED
from memshare_memory.stores.open_store import layout_in_use, open_store
from memshare_memory.stores.server_collection import ALIAS
from memshare_memory.stores.store import Layout, Where, every, place_of
from tests.support.deployment import ROOT, wait_for
from tests.support.qdrant_server import emptied
from tests.support.terminal import Terminal

MEMORIES, KILLS = 600, 5
COLLECTION = f"{ALIAS}-{place_of(Layout(BUNDLED, 384))}"


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
    with terminal.working():
        terminal.run("memories", "import", str(seeds))
        terminal.run("backup", str(tmp_path / "one.zip"))
    return tmp_path / "one.zip"


def is_killed_in_the_middle(backup: Path, terminal: Terminal, url: str) -> bool:
    """Restore to an empty server, and kill that when some memories are there, and not all; whether it was so."""
    shutil.rmtree(terminal.data, ignore_errors=True)
    with closing(QdrantClient(url=url, check_compatibility=False)) as client:
        client.delete_collection(COLLECTION)
        command = [sys.executable, "-m", "memshare", "restore", str(backup)]
        killed = subprocess.Popen(command, cwd=ROOT, env=terminal.environment, start_new_session=True)

        def there() -> int:
            with suppress(UnexpectedResponse):  # there is no collection yet
                return len(client.scroll(COLLECTION, limit=MEMORIES, with_payload=False)[0])
            return 0

        wait_for(lambda: bool(there()) or killed.poll() is not None, 60, "some memories to be there")
        if killed.poll() is None:
            os.killpg(killed.pid, signal.SIGSTOP)  # it, and the process that writes the memories
        in_the_middle = killed.poll() is None and 0 < there() < MEMORIES
        if killed.poll() is None:
            os.killpg(killed.pid, signal.SIGKILL)
        killed.wait(60)
    return in_the_middle


def test_a_pool_goes_to_a_server_and_back_and_a_restore_that_is_killed_lets_nothing_start(
    backup: Path, server: str, tmp_path: Path
) -> None:
    wanted = memories_at(tmp_path / "first")
    second = terminal_at(tmp_path / "second", server)

    # Killed in the middle: what is there is not used before the restore is run again.
    assert any(is_killed_in_the_middle(backup, second, server) for _ in range(KILLS)), "each kill came too late"
    assert "broken off" in second.run("up", "--flower-port", "0", "--port", "0", code=1).stderr
    restored = second.json("restore", str(backup))
    assert restored["memories"] == MEMORIES
    assert memories_at(tmp_path / "second", server) == wanted

    # And back, from the server into a folder.
    again = tmp_path / "two.zip"
    with second.working():
        second.run("memories", "add", "An echo.", "--pool", "poem")
        second.run("backup", str(again))
    third = terminal_at(tmp_path / "third")
    assert third.json("restore", str(again))["memories"] == MEMORIES + 1
    assert memories_at(tmp_path / "third").items() > wanted.items()
