"""What only a real Qdrant does: keys, TLS, a folder that it may not write, and a pool of another layout."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from qdrant_client import QdrantClient, models

from memshare_broker.errors import BadInput, TryAgain, Unreachable
from memshare_memory.stores.server_store import ServerStore
from memshare_memory.stores.store import Where, every
from tests.support import qdrant_server
from tests.support.memories import LAYOUT, remembered
from tests.support.qdrant_server import QdrantProcess

pytestmark = pytest.mark.skipif(shutil.which("qdrant") is None, reason="there is no `qdrant` on the PATH")
KEY, READS = "the-key-of-this-test", "reads-only"


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[QdrantProcess]:
    """A server that asks for a key."""
    keys = {"QDRANT__SERVICE__API_KEY": KEY, "QDRANT__SERVICE__READ_ONLY_API_KEY": READS}
    with QdrantProcess(tmp_path, **keys).running() as server:
        yield server


@pytest.mark.parametrize("key", [None, "another"])
def test_a_key_that_is_wrong_is_refused_at_the_start(guarded: QdrantProcess, key: str | None) -> None:
    with pytest.raises(BadInput, match="MEMSHARE_QDRANT_API_KEY"):
        ServerStore.open(guarded.url, key, LAYOUT)

    ServerStore.open(guarded.url, KEY, LAYOUT).close()


def test_a_key_that_may_only_read_finds_memories_and_writes_none(guarded: QdrantProcess) -> None:
    with closing(ServerStore.open(guarded.url, KEY, LAYOUT)) as store:
        store.put([remembered("moon")])

    with closing(ServerStore.open(guarded.url, READS, LAYOUT)) as store:
        assert store.count(Where()) == {"poem": 1}
        with pytest.raises(Exception, match=r"(?i)forbidden|refused"):
            store.put([remembered("sun")])
        assert store.count(Where()) == {"poem": 1}


def test_a_server_that_was_killed_has_every_memory_that_was_acknowledged(tmp_path: Path) -> None:
    with QdrantProcess(tmp_path).running() as server, closing(ServerStore.open(server.url, None, LAYOUT)) as store:
        for number in range(300):
            store.put([remembered(f"memory {number}")])
        server.send_signal(signal.SIGKILL)
        with pytest.raises(TryAgain):
            store.count(Where())

        server.start()

        assert {memory.prompt for memory in every(store, Where())} == {f"memory {number}" for number in range(300)}


def test_a_collection_of_another_layout_behind_the_alias_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    with (
        QdrantProcess(tmp_path).running() as server,
        closing(QdrantClient(url=server.url, check_compatibility=False)) as client,
    ):
        client.create_collection("theirs", models.VectorParams(size=4, distance=models.Distance.DOT))
        pointing = models.CreateAlias(collection_name="theirs", alias_name="memshare")
        client.update_collection_aliases([models.CreateAliasOperation(create_alias=pointing)])

        with pytest.raises(BadInput, match="does not say what it was made for"):
            ServerStore.open(server.url, None, LAYOUT)

        assert client.get_collection("theirs").payload_schema == {}


def test_tls_is_spoken_and_its_certificate_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem"]
    named = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run([*made, *named], cwd=tmp_path, check=True, capture_output=True)
    tls = {
        "QDRANT__SERVICE__ENABLE_TLS": "true",
        "QDRANT__TLS__CERT": str(tmp_path / "cert.pem"),
        "QDRANT__TLS__KEY": str(tmp_path / "key.pem"),
    }
    with QdrantProcess(tmp_path, **tls).running() as server:
        assert server.url.startswith("https://")
        with pytest.raises(Unreachable, match="does not answer"):
            ServerStore.open(server.url, None, LAYOUT)

        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
        with closing(ServerStore.open(server.url, None, LAYOUT)) as store:
            store.put([remembered("moon")])
            assert store.count(Where()) == {"poem": 1}


def test_each_test_that_runs_beside_a_server_is_counted_as_one_that_saw_it(tmp_path: Path) -> None:
    with QdrantProcess(tmp_path).running():
        qdrant_server.begin_test()  # another test begins, as of a module whose fixture started the server
        beside = set(qdrant_server.seen)
    qdrant_server.begin_test()
    after = set(qdrant_server.seen)
    with qdrant_server.in_use(qdrant_server.FROM_PATH):
        pass

    assert (beside, after) == ({qdrant_server.FROM_PATH}, set())
    assert qdrant_server.seen == {qdrant_server.FROM_PATH}  # this one did
