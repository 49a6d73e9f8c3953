"""What is purged is on the disk no more: neither in the pool's files nor in those of Redis, whatever was done.

Of a pool on a server no point has it; the server rewrites its files later.
"""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import redis
from qdrant_client import QdrantClient

from memshare_broker.connection import connect
from memshare_broker.delivery.journey_records import unpack
from memshare_broker.redis_server import socket_url
from memshare_memory.stores.server_collection import ALIAS
from tests.support.qdrant_server import emptied
from tests.support.terminal import Terminal, end

SECRET = "zebracorn"


def files_with(folder: Path, text: str) -> list[str]:
    found = (one for one in folder.rglob("*") if one.is_file() and text.encode() in one.read_bytes())
    return [str(one.relative_to(folder)) for one in found]


def keys_with(client: redis.Redis, text: str) -> list[str]:
    """Every key of Redis whose value has a text, packed or not."""
    return [str(key) for key in client.scan_iter(count=1000) if text in str(key) + _whole(client, str(key))]


def _whole(client: redis.Redis, key: str) -> str:
    reads = {"string": "GET", "hash": "HGETALL", "zset": "ZRANGE", "set": "SMEMBERS", "list": "LRANGE"}
    kind = str(client.type(key))
    bounds = [0, -1] if kind in ("zset", "list") else []
    value: Any = client.execute_command(reads.get(kind, "TYPE"), key, *bounds, NEVER_DECODE=True)  # type: ignore[no-untyped-call]
    values = [value] if isinstance(value, bytes) else [*value.values()] if isinstance(value, dict) else [*(value or [])]
    return str(values) + "".join(json.dumps(unpack(one)) for one in values if one.startswith(b"\x01"))


def bring_in_and_forget(terminal: Terminal) -> tuple[str, str]:
    """The id of one that was forgotten, and of one that a task was shown: both have the secret, and another has not."""
    add = ("memories", "add", "--pool", "poem", "--kind", "limerick", "--submitter", "eve", "An animal.", "--prompt")
    terminal.run(*add, f"What is a {SECRET}?")
    [forgotten] = [one["id"] for one in terminal.json("memories", "list")]
    terminal.run("memories", "forget", forgotten, "--yes")
    terminal.run(*add, f"Write about a {SECRET}")
    [shown] = [one["id"] for one in terminal.json("memories", "list")]
    terminal.run(*add, "Write about a horse")
    submitted = terminal.json("submit", "poem", f"About a {SECRET}", "--kind", "limerick", "--reuse", "--wait")
    terminal.settled(submitted["id"])
    return forgotten, shown


def test_a_purged_text_is_in_no_file_of_the_data_folder(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    running = terminal.up()
    try:
        forgotten, shown = bring_in_and_forget(terminal)
        with closing(connect(socket_url(tmp_path))) as client:
            assert keys_with(client, SECRET)
        before = {name.split("/")[0] for name in files_with(tmp_path, SECRET)}
        assert before >= {"pool", "redis"}

        purged = terminal.json("memories", "purge", shown, forgotten, "--yes")

        assert purged["rewritten"] == {"pool": True, "redis": True, "copies": []}
        with closing(connect(socket_url(tmp_path))) as client:
            assert keys_with(client, SECRET) == []
        assert files_with(tmp_path, SECRET) == []
        assert terminal.json("memories", "search", "a horse", "--pool", "poem")["memories"]
    finally:
        end(running)

    with terminal.working():
        assert terminal.json("memories", "search", "a horse", "--pool", "poem")["memories"]
        assert files_with(tmp_path, SECRET) == []


def test_on_a_server_no_point_has_a_purged_text_and_the_command_says_what_follows_later(tmp_path: Path) -> None:
    with emptied() as url, closing(QdrantClient(url=url, check_compatibility=False)) as server:
        terminal = Terminal(tmp_path)
        terminal.environment["MEMSHARE_QDRANT_URL"] = url
        with terminal.working():
            forgotten, shown = bring_in_and_forget(terminal)
            assert SECRET in str(server.scroll(ALIAS, limit=100, with_payload=True))

            purged = terminal.run("memories", "purge", shown, forgotten, "--yes")

            assert "Qdrant" in purged.stderr
            points, _ = server.scroll(ALIAS, limit=100, with_payload=True)
            assert len(points) == 1
            assert SECRET not in str(points)
            with closing(connect(socket_url(tmp_path))) as client:
                assert keys_with(client, SECRET) == []
            assert files_with(tmp_path, SECRET) == []
            assert terminal.json("memories", "search", "a horse", "--pool", "poem")["memories"]
