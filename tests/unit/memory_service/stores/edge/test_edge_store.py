"""What only the embedded store has: a folder, one owner, and a disk that can fill up."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import qdrant_edge as edge

from memshare_broker.errors import BadInput, TryAgain
from memshare_memory.stores import edge_engine, edge_folder, edge_store, points
from memshare_memory.stores.edge_store import EdgeStore
from memshare_memory.stores.store import Where, search_one
from tests.support.memories import LAYOUT, at, remembered

DiskUsage = namedtuple("DiskUsage", "total used free")

ANOTHER = """
import os, sys
from pathlib import Path
from memshare_broker.errors import MemshareError
from memshare_memory.stores.edge_store import EdgeStore
from tests.support.memories import LAYOUT, at, remembered

folder, then = Path(sys.argv[1]), sys.argv[2]
if then == "as nobody" and os.getuid() == 0:
    os.setuid(65534)
try:
    store = EdgeStore.open(folder, LAYOUT, "the other one")
except MemshareError as error:
    print(type(error).__name__, error)
    sys.exit(1)
for i in range(1100):
    store.put([remembered(f"memory {i}", i / 10)])
print("put", flush=True)
if then == "wait":
    sys.stdin.read()
os._exit(9)
"""


def another(folder: Path, then: str) -> subprocess.Popen[str]:
    """Another process that opens the folder."""
    return subprocess.Popen(
        [sys.executable, "-c", ANOTHER, str(folder), then],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[5],
    )


def test_a_second_process_is_told_who_has_the_folder(tmp_path: Path) -> None:
    with closing(EdgeStore.open(tmp_path, LAYOUT, "worker poem")) as store:
        store.put([remembered("moon")])
        with another(tmp_path, "wait") as second:
            said, _ = second.communicate(timeout=60)

        assert second.returncode == 1
        assert said.startswith(f"Unreachable The pool in {str(tmp_path)!r} is open already, by worker poem")
        assert f"(process {os.getpid()}, since 20" in said
        assert "MEMSHARE_QDRANT_URL" in said
        store.put([remembered("tide")])
        assert store.count(Where()) == {"poem": 2}


def test_a_folder_that_was_closed_can_be_opened_again_with_everything_in_it(tmp_path: Path) -> None:
    with closing(EdgeStore.open(tmp_path, LAYOUT, "the first")) as store:
        store.put([remembered("moon", 30)])
    assert not (tmp_path / "owner.json").exists()

    with closing(EdgeStore.open(tmp_path, LAYOUT, "the second")) as store:
        assert search_one(store, Where(pool="poem"), 1, dense=at(30))[0].similarity == pytest.approx(1)


def test_what_was_put_survives_kill_9(tmp_path: Path) -> None:
    with another(tmp_path, "wait") as process:
        assert process.stdout
        assert process.stdout.readline() == "put\n"
        process.kill()
        process.wait(10)
    assert (tmp_path / "owner.json").exists()

    with closing(EdgeStore.open(tmp_path, LAYOUT, "the next one")) as store:
        assert store.count(Where()) == {"poem": 1100}
        assert search_one(store, Where(), 1, dense=at(109.9))[0].memory.prompt == "memory 1099"
        assert '"the next one"' in (tmp_path / "owner.json").read_text()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    for folder in [tmp_path, *tmp_path.parents[:2]]:
        folder.chmod(0o755)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)

    with another(closed / "pool", "as nobody") as process:
        said, _ = process.communicate(timeout=60)

    assert process.returncode == 1
    assert said.startswith(f"BadInput The pool's folder {str(closed / 'pool')!r} cannot be used")
    assert "MEMSHARE_DATA" in said


def test_a_file_where_the_folder_should_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "pool").write_text("not a folder")

    with pytest.raises(BadInput, match=r"/pool' cannot be used"):
        EdgeStore.open(tmp_path / "pool", LAYOUT, "a test")


def test_broken_metadata_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    EdgeStore.open(tmp_path, LAYOUT, "a test").close()
    (tmp_path / "memshare.json").write_text('{"encoder": ')

    with pytest.raises(BadInput, match=r"memshare\.json' does not say what the pool was made for"):
        EdgeStore.open(tmp_path, LAYOUT, "a test")

    assert (tmp_path / "memshare.json").read_text() == '{"encoder": '


def test_a_full_disk_refuses_writes_but_not_searches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(EdgeStore.open(tmp_path, LAYOUT, "a test")) as store:
        moon = remembered("moon")
        store.put([moon])
        with monkeypatch.context() as patch:
            patch.setattr(shutil, "disk_usage", lambda _: DiskUsage(2**30, 2**30 - 5 * 2**20, 5 * 2**20))

            with pytest.raises(TryAgain, match="5 MiB are free"):
                store.put([remembered("tide")])
            with pytest.raises(TryAgain, match="5 MiB are free"):
                store.delete([moon[0].id])
            with pytest.raises(TryAgain, match="5 MiB are free"):
                store.note_credibility({moon[0].id: 0.5})
            with pytest.raises(BadInput, match="5 MiB are free"):
                EdgeStore.open(tmp_path / "new", LAYOUT, "a test")
            assert search_one(store, Where(), 9, dense=at(0))[0].memory == moon[0]

        store.put([remembered("tide")])
        assert store.count(Where()) == {"poem": 2}


def test_a_pool_that_has_vectors_of_concepts_is_opened_without_them(tmp_path: Path) -> None:
    engine, config = edge_folder.prepare(tmp_path, LAYOUT), edge_engine.config(LAYOUT)
    idf = edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)
    before = edge.EdgeConfig(vectors=config.vectors, sparse_vectors={points.SPARSE: idf, "concepts": idf})
    shard = edge.EdgeShard.load(str(engine), before)
    memory, vectors = remembered("old", 20, concepts={"0": ("Owl",)})
    named = edge_store.vectors(vectors) | {"concepts": edge.SparseVector([1], [1.0])}
    shard.update(edge.UpdateOperation.upsert_points([edge.Point(memory.id, named, points.payload(memory))]))
    shard.close()

    for _ in range(2):
        with closing(EdgeStore.open(tmp_path, LAYOUT, "a test")) as store:
            assert [hit.memory for hit in search_one(store, Where(), 2, dense=at(20))] == [memory]
    edge.EdgeShard.load(str(engine), config).close()


def test_a_pool_from_before_a_field_gets_it_and_keeps_the_credibility_of_its_memories(tmp_path: Path) -> None:
    engine, config = edge_folder.prepare(tmp_path, LAYOUT), edge_engine.config(LAYOUT)
    shard = edge.EdgeShard.load(str(engine), config)
    memory, vectors = remembered("old", 20, model="openai:qwen3")
    fields = {name: value for name, value in points.payload(memory).items() if name != "model"}
    old = edge.Point(memory.id, edge_store.vectors(vectors), fields | {points.CREDIBILITY: 0.3})
    shard.update(edge.UpdateOperation.upsert_points([old]))
    words = edge.IntegerIndexParams(lookup=True, range=False)
    shard.update(edge.UpdateOperation.create_field_index(points.WORDS, words))
    shard.close()

    for _ in range(2):
        with closing(EdgeStore.open(tmp_path, LAYOUT, "a test")) as store:
            assert store.page(Where(model="openai:qwen3", credibility_to=0.5), 10).memories == [memory]
            assert points.problem(store.raw(1).points[0]) is None


class Interrupted:
    """An engine during whose first search something happens."""

    def __init__(self, shard: edge.EdgeShard, happens: Callable[[], None]) -> None:
        self._shard, self._happens = shard, [happens]

    def query_batch(self, request: edge.QueryBatchRequest) -> object:
        found = self._shard.query_batch(request)
        if self._happens:
            self._happens.pop()()
        return found

    def __getattr__(self, name: str) -> object:
        return getattr(self._shard, name)


@pytest.mark.parametrize("is_known", [False, True])
def test_a_memory_that_is_hidden_between_a_search_and_the_reading_is_not_found(tmp_path: Path, is_known: bool) -> None:
    with closing(EdgeStore.open(tmp_path, LAYOUT, "worker memory")) as store:
        shown, hidden = (remembered("red lamp", 10, status=status) for status in ("active", "hidden"))
        store.put([shown])
        if is_known:
            assert search_one(store, Where(), 9, dense=at(10))[0].memory == shown[0]

        store._shard = Interrupted(store._shard, lambda: store.put([hidden]))  # type: ignore[assignment]

        assert search_one(store, Where(status="active"), 9, dense=at(10)) == []
        assert [hit.memory for hit in search_one(store, Where(), 9, dense=at(10))] == [hidden[0]]


def test_what_a_search_has_read_is_read_again_once_it_is_written(tmp_path: Path) -> None:
    with closing(EdgeStore.open(tmp_path, LAYOUT, "worker memory")) as store:
        memory, vectors = remembered("red lamp", 10)
        store.put([(memory, vectors)])
        assert search_one(store, Where(), 9, dense=at(10))[0].memory == memory

        changed = memory.model_copy(update={"score": 12.0})
        store.put([(changed, vectors)], in_place=True)

        assert [hit.memory for hit in search_one(store, Where(), 9, dense=at(10))] == [changed]
