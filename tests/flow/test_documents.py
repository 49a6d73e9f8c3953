"""Documents that are being indexed: workers take tasks meanwhile, and a task of who reads them waits."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memshare_agents.reasoning.sources.documents import pool_of
from memshare_broker.connection import connect
from memshare_broker.settings import Settings
from tests.support.chat_script import well
from tests.support.chat_server import serving
from tests.support.deployment import Deployment, deployed, empty, wait_for

QUEUES = ("poem", "reasoning", "scorer", "memory")


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "mill.txt").write_text("The mill at Larkfield was built by Ada Korn.")
    return folder


@pytest.fixture
def deployment(redis_folder: Path, tmp_path: Path, documents: Path) -> Iterator[Deployment]:
    """Its worker cannot index: another one seems to do it, under the lock of who does."""
    empty(redis_folder)
    settings = Settings(data=redis_folder, model="openai:scripted")
    lock = f"memshare:index:{pool_of([documents])}"
    with connect(settings.redis) as client, serving(well) as chat:
        client.set(lock, "another worker")
        with deployed(settings, chat, tmp_path, [QUEUES], MEMSHARE_DOCUMENTS=str(documents)) as running:
            yield running


def test_a_task_waits_for_its_documents_and_no_other_one_does(deployment: Deployment, documents: Path) -> None:
    client = deployment.client
    reasoning = client.submit("reasoning", "Who built the mill?")
    poem = client.submit("poem", "A limerick about a mill", kind="limerick")

    assert poem.get(timeout=60)["answer"]
    waits = wait_for(lambda: client.journey(reasoning.id).waits, 30, "the task to wait")
    assert "documents are being indexed" in waits.why
    assert client.journey(reasoning.id).hops == {}

    with connect(client.settings.redis) as redis_client:
        redis_client.delete(f"memshare:index:{pool_of([documents])}")
    assert reasoning.get(timeout=60)["answer"]
