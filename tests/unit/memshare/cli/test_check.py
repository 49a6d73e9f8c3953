"""`memshare memories check`: at the door of a memory service, and on the files of one that does not start."""

from __future__ import annotations

import json
import random
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from memshare_memory.door.client import MemoryClient
from memshare_memory.encoders.encoder import BUNDLED
from memshare_memory.memory import Memory
from memshare_memory.recall.recall import Recall, sparse_of
from memshare_memory.stores import points
from memshare_memory.stores.edge_store import EdgeStore
from memshare_memory.stores.store import Layout, Vectors, Where, every
from tests.support.memories import remembered
from tests.support.terminal import Terminal


@pytest.fixture
def spoilt(recall: Recall, monkeypatch: pytest.MonkeyPatch) -> dict[str, Memory]:
    """A pool with a memory that is whole, one whose pool is wrong beside its text, and one that cannot be read."""
    memories = {name: remembered(f"{name} lamp")[0] for name in ("whole", "mixed up", "lost")}
    wrong: dict[str, dict[str, str]] = {"whole": {}, "mixed up": {"pool": "logic"}, "lost": {points.WHOLE: "[1e999]"}}
    written = points.payload
    for name, memory in memories.items():
        with monkeypatch.context() as patch:
            patch.setattr(points, "payload", lambda memory, name=name: written(memory) | wrong[name])
            recall.store.put([(memory, recall.vectors([memory])[0])])
    return memories


@pytest.mark.usefixtures("memory")
def test_damaged_memories_are_found_mended_and_moved_to_a_file(
    spoilt: dict[str, Memory], recall: Recall, tmp_path: Path
) -> None:
    terminal, file = Terminal(tmp_path), tmp_path / "moved.jsonl"

    found = json.loads(terminal.run("memories", "check", "--json", code=1).stdout)
    mended = terminal.json("memories", "check", "--repair", "--file", str(file))

    problems = {one["id"]: one["problem"] for one in found["damaged"]}
    assert set(problems) == {str(spoilt["mixed up"].id), str(spoilt["lost"].id)}
    assert problems[str(spoilt["mixed up"].id)] == "its field 'pool' is 'logic'"
    assert (found["memories"], found["mended"], found["moved"], found["file"]) == (3, 0, 0, None)
    assert (mended["mended"], mended["moved"], mended["file"]) == (1, 1, str(file))
    [moved] = map(json.loads, file.read_text().splitlines())
    assert (moved["id"], moved["fields"]["memory"]) == (str(spoilt["lost"].id), "[1e999]")
    assert terminal.json("memories", "check")["damaged"] == []
    assert {one.id for one in every(recall.store, Where(pool="poem"))} == {spoilt["whole"].id, spoilt["mixed up"].id}


@pytest.mark.usefixtures("spoilt")
def test_lists_say_that_a_memory_was_left_out(memory: MemoryClient, tmp_path: Path) -> None:
    assert memory.stats().unreadable == 0

    assert len(list(memory.every(Where()))) == 2

    assert memory.stats().unreadable == 1
    assert "1 memory cannot be read" in Terminal(tmp_path).run("memories", "stats").stderr


def test_who_asks_to_drop_a_memory_that_can_be_read_does_not(spoilt: dict[str, Memory], memory: MemoryClient) -> None:
    assert memory.drop_damaged([one.id for one in spoilt.values()]) == [spoilt["lost"].id]


@pytest.fixture
def closed(tmp_path: Path) -> None:
    """A pool in a data folder on which nothing runs."""
    memories = [remembered(f"lamp {number}")[0] for number in range(20)]
    layout, vector = Layout(BUNDLED, 384), [1.0] + 383 * [0.0]
    with closing(EdgeStore.open(tmp_path / "pool", layout, "a test")) as store:
        store.put([(one, Vectors(np.array(vector, np.float32), sparse_of(one))) for one in memories])


@pytest.mark.usefixtures("closed")
@pytest.mark.slow
def test_a_pool_with_damaged_files_is_saved_to_a_new_one_while_nothing_runs(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path.rename(tmp_path.with_name(f"{tmp_path.name}-café")))
    assert terminal.json("memories", "check") == {"memories": 20, "damage": None, "left_out": 0, "kept": None}
    [file] = (terminal.data / "pool").rglob("mutable_id_tracker.versions")
    file.write_bytes(file.read_bytes()[:-8])

    said = terminal.run("memories", "check", code=1).stdout
    repaired = json.loads(terminal.encoded("ascii", "memories", "check", "--repair", "--json").stdout)

    assert "mutable_id_tracker.versions is changed" in said
    assert (repaired["memories"] + repaired["left_out"]) >= 19
    assert (Path(repaired["kept"]) / "engine").is_dir()
    assert terminal.json("memories", "check")["memories"] == repaired["memories"]


@pytest.mark.usefixtures("closed")
def test_a_pool_of_which_nothing_can_be_read_is_left_as_it_is(tmp_path: Path) -> None:
    for file in (tmp_path / "pool" / "engine").rglob("segment.json"):
        file.write_bytes(random.Random(7).randbytes(100))
    before = sorted(path.name for path in tmp_path.iterdir())

    said = Terminal(tmp_path).run("memories", "check", "--repair", code=1).stderr

    assert "memshare restore FILE --replace" in said
    assert {path.name for path in tmp_path.iterdir()} >= set(before)


def test_a_folder_without_a_pool_is_no_clean_check_and_is_not_made(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "nowhere")

    said = terminal.run("memories", "check", code=2).stderr

    assert "There is no pool in" in said
    assert "MEMSHARE_DATA" in said
    assert not terminal.data.exists()
