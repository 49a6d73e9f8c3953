"""Four memory services on one Qdrant server: no pair is there twice, and all use what was learnt at once."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
import pytest
import redis

from memshare_broker.settings import Settings
from memshare_broker.wire.signing import open_signer
from memshare_memory.curate.requests import NewMemory
from memshare_memory.door.client import MemoryClient
from memshare_memory.door.messages import RecallRequest
from memshare_memory.encoders.encoder import BUNDLED
from memshare_memory.recall.retriever import PublishedAdapter, adapter_key, version_key
from memshare_memory.stores.store import Where
from tests.faults.worker_process import start_memshare
from tests.support.qdrant_server import emptied

REPLICAS, PAIRS, TOKEN = 4, 40, "only-for-this-test"
READY_WITHIN, KNOWN_WITHIN = 120.0, 1.0  # seconds


@pytest.fixture
def replicas(redis_folder: Path, redis_client: redis.Redis, tmp_path: Path) -> Iterator[list[MemoryClient]]:
    """A client of each of them."""
    assert redis_client.ping()
    open_signer(Settings(data=redis_folder), make=True)
    with ExitStack() as stack:
        url = stack.enter_context(emptied())
        made = []
        for number in range(REPLICAS):
            with socket.create_server(("127.0.0.1", 0)) as free:
                at = f"127.0.0.1:{free.getsockname()[1]}"
            environment = {
                "MEMSHARE_DATA": str(redis_folder),
                "MEMSHARE_MODEL": "offline",
                "MEMSHARE_QDRANT_URL": url,
                "MEMSHARE_MEMORY_LISTEN": at,
                "MEMSHARE_MEMORY_TOKEN": TOKEN,
            }
            process = start_memshare(["worker", "memory"], tmp_path / f"{number}.log", environment)
            stack.callback(process.wait, 60)
            stack.callback(process.terminate)
            settings = Settings(data=redis_folder, memory_url=f"http://{at}", memory_token=TOKEN)
            made.append(stack.enter_context(closing(MemoryClient(settings))))
        for client in made:
            client.wait_until_ready(READY_WITHIN)
        yield made


def test_what_is_written_through_all_at_once_is_there_once_and_a_new_version_is_used_by_all(
    replicas: list[MemoryClient], redis_client: redis.Redis
) -> None:
    pairs = [NewMemory(pool="poem", new_pool=True, prompt=f"Lamp {n}?", answer=f"Lamp {n}.") for n in range(PAIRS)]
    with ThreadPoolExecutor(8) as threads:
        for added in [threads.submit(client.add, [pair]) for pair in pairs for client in replicas]:
            assert len(added.result(60)) == 1

    for client in replicas:
        assert client.stats().by_pool == {"poem": PAIRS}
        assert len({memory.prompt for memory in client.every(Where())}) == PAIRS

    request = RecallRequest(pool="poem", text="Lamp 7?", k=1)
    assert [client.recall(request).retriever_version for client in replicas] == [0] * REPLICAS
    for version in (1, 2):
        published = PublishedAdapter.pack(version, BUNDLED, np.zeros((384, 384), np.float32))
        redis_client.set(adapter_key("poem", BUNDLED, version), published.model_dump_json())
        redis_client.set(version_key("poem", BUNDLED), version)
        time.sleep(KNOWN_WITHIN)
        assert [client.recall(request).retriever_version for client in replicas] == [version] * REPLICAS
