"""The files of the embedded engine are written anew, whole at any moment."""

from __future__ import annotations

import threading
from contextlib import closing
from pathlib import Path

import pytest

from memshare_memory.memory import Memory
from memshare_memory.recall.recall import vectors_of
from memshare_memory.stores import edge_folder
from memshare_memory.stores.edge_store import EdgeStore
from memshare_memory.stores.store import Layout, Where, search_one
from tests.support.memories import remembered
from tests.support.word_encoder import WordEncoder

ENCODER = WordEncoder()
LAYOUT = Layout(ENCODER.name, ENCODER.dimension)
SECRET = "zebracorn"


def put(store: EdgeStore, *prompts: str) -> list[Memory]:
    memories = [remembered(prompt)[0] for prompt in prompts]
    store.put(list(zip(memories, vectors_of(ENCODER, memories), strict=True)))
    return memories


def opened(folder: Path) -> EdgeStore:
    return EdgeStore.open(folder, LAYOUT, "a test")


def copies(folder: Path) -> int:
    return sum(one.read_bytes().count(SECRET.encode()) for one in folder.rglob("*") if one.is_file())


def test_after_a_rewrite_deleted_text_is_in_no_file_and_the_rest_is_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "pool"
    query = ENCODER.encode(["lamp number 3"])[0]
    with closing(opened(folder)) as store:
        lamps = put(store, *(f"lamp number {number}" for number in range(20)))
        [gone] = put(store, f"a {SECRET}")
        store.note_credibility({lamps[0].id: 0.25})
        store.delete([gone.id])
        before = [(hit.memory, hit.score) for hit in search_one(store, Where(), 20, dense=query)]
        assert copies(folder) > 0

        assert store.rewrite() == ()

        assert copies(folder) == 0
        assert [(hit.memory, hit.score) for hit in search_one(store, Where(), 20, dense=query)] == before
        assert store.page(Where(credibility_to=0.5), 5).memories == [lamps[0]]
        put(store, "written after it")
        store.rewrite()
    with closing(opened(folder)) as store:
        assert store.count(Where()) == {"poem": 21}
        assert store.page(Where(credibility_to=0.5), 5).memories == [lamps[0]]
    assert copies(folder) == 0


def test_who_reads_meanwhile_is_answered(tmp_path: Path) -> None:
    query = ENCODER.encode(["lamp"])[0]
    with closing(opened(tmp_path / "pool")) as store:
        put(store, *(f"lamp {number}" for number in range(50)))
        found: list[int] = []
        ended = threading.Event()

        def read() -> None:
            while not ended.is_set():
                found.append(len(search_one(store, Where(), 50, dense=query)))

        reader = threading.Thread(target=read)
        reader.start()
        for _ in range(3):
            store.rewrite()
        ended.set()
        reader.join()

    assert set(found) == {50}


@pytest.mark.parametrize("moment", ["copying", "between the renames", "removing"])
def test_a_process_that_ends_in_the_middle_of_it_leaves_a_whole_pool(tmp_path: Path, moment: str) -> None:
    folder = tmp_path / "pool"
    with closing(opened(folder)) as store:
        put(store, "lamp", "boat")
    engine, fresh, old = (folder / name for name in (edge_folder.ENGINE, edge_folder.FRESH, edge_folder.OLD))
    if moment == "copying":
        fresh.mkdir()
        (fresh / "half").write_text("written")
    elif moment == "between the renames":
        engine.rename(fresh)
        old.mkdir()
    else:
        old.mkdir()

    with closing(opened(folder)) as store:
        assert store.count(Where()) == {"poem": 2}
    assert not fresh.exists()
    assert not old.exists()


def test_pools_of_other_encoders_go_and_copies_from_before_are_named(tmp_path: Path) -> None:
    other = Layout("tests/other", ENCODER.dimension)
    EdgeStore.open(tmp_path / "pool-other", other, "a test").close()
    (tmp_path / "before-restore-1").mkdir()
    (tmp_path / "pool.damaged-1").mkdir()

    with closing(opened(tmp_path / "pool")) as store:
        copied = store.rewrite()

    assert [Path(one).name for one in copied] == ["before-restore-1", "pool.damaged-1"]
    assert not (tmp_path / "pool-other").exists()
