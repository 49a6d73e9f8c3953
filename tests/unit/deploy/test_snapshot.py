"""The guide's snapshot of a Qdrant server, made and brought back as it says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from memshare_memory.stores.server_store import ServerStore
from memshare_memory.stores.store import Where, every
from tests.support.memories import LAYOUT, remembered
from tests.support.qdrant_server import QdrantProcess
from tests.unit.deploy.test_guide import GUIDE, block

pytestmark = pytest.mark.skipif(
    not (shutil.which("qdrant") and shutil.which("curl")), reason="there is no `qdrant` or no `curl` on the PATH"
)
KEY = "the-key-of-this-test"
MEMORIES = 300


def test_a_snapshot_brings_every_memory_and_the_alias_back_to_an_empty_server(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
    [make] = [line for line in block("redis-cli BGSAVE").splitlines() if line.startswith("curl ")]
    items = [remembered(f"memory {number}", number) for number in range(MEMORIES)]
    with QdrantProcess(folders[0], QDRANT__SERVICE__API_KEY=KEY).running() as server:
        with closing(ServerStore.open(server.url, KEY, LAYOUT)) as store:
            store.put(items)

        def run(command: str) -> str:
            environment = os.environ | {"KEY": KEY, "QDRANT": server.url}
            return subprocess.run(
                ["sh", "-euc", command], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
            ).stdout

        name = json.loads(run(make))["result"]["name"]
        assert "GET $QDRANT/snapshots/NAME" in make
        run(f'curl --fail --output pool.snapshot -H "api-key: $KEY" $QDRANT/snapshots/{name}')

    assert "qdrant --storage-snapshot FILE" in GUIDE
    again = QdrantProcess(folders[1], "--storage-snapshot", str(tmp_path / "pool.snapshot"))
    with again.running() as server, closing(ServerStore.open(server.url, None, LAYOUT)) as store:
        assert {memory.id: memory for memory in every(store, Where())} == {memory.id: memory for memory, _ in items}
