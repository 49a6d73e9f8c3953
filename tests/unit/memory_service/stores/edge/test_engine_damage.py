"""Files of the embedded pool that are not what they were: found at opening, and never a raw error of the engine."""

from __future__ import annotations

import logging
import random
import shutil
import struct
import subprocess
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from memshare_broker.errors import BadInput, TryAgain
from memshare_memory.memory import Memory
from memshare_memory.stores import edge_integrity
from memshare_memory.stores.edge_integrity import no_panic
from memshare_memory.stores.edge_store import EdgeStore
from memshare_memory.stores.store import Damaged, Where, every, search_one
from tests.support.damage import harm
from tests.support.memories import LAYOUT, Item, at, remembered

CLOSED_CASES, KILLED_CASES = 60, 10
ITEMS = [remembered(f"memory {number}", number / 10, pool=("poem", "logic")[number % 2]) for number in range(120)]


def copied(folder: Path, to: Path) -> Path:
    """A pool's folder as kill -9 would leave it, where the pool is open; the engine's files are mostly holes."""
    shutil.rmtree(to, ignore_errors=True)
    subprocess.run(["cp", "-r", "--sparse=always", str(folder), str(to)], check=True)
    return to


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pool that was closed, with all the items."""
    folder = tmp_path_factory.mktemp("closed") / "pool"
    with closing(EdgeStore.open(folder, LAYOUT, "a test")) as store:
        store.put(ITEMS)
    return folder


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pool whose process was killed, with all the items but the first: some of them in the log alone."""
    folder = tmp_path_factory.mktemp("killed") / "pool"
    with closing(EdgeStore.open(folder, LAYOUT, "a test")) as store:
        store.put(ITEMS[:80])
    with closing(EdgeStore.open(folder, LAYOUT, "a test")) as store:
        store.put(ITEMS[80:])
        store.delete([ITEMS[0][0].id])
        return copied(folder, folder.with_name("left"))


def content(folder: Path) -> tuple[dict[str, Memory], Counter[str], int]:
    """What a pool holds by every way of asking: its memories, their counts, and how many are found by a vector."""
    with closing(EdgeStore.open(folder, LAYOUT, "a test")) as store:
        memories = {str(memory.id): memory for memory in every(store, Where())}
        hits = search_one(store, Where(), len(ITEMS), dense=at(0))
        return memories, Counter(store.count(Where())), len(hits)


def expected(items: list[Item]) -> tuple[dict[str, Memory], Counter[str], int]:
    memories = {str(memory.id): memory for memory, _ in items}
    return memories, Counter(memory.pool for memory in memories.values()), len(memories)


def test_whatever_is_damaged_in_a_closed_pool_is_found_when_it_is_opened(closed: Path) -> None:
    for case in range(CLOSED_CASES):
        damage = harm(closed / "engine", random.Random(case))

        with pytest.raises(Damaged, match=r"is damaged: of its [0-9]+ files, since it was closed, ") as error:
            EdgeStore.open(closed, LAYOUT, "a test")

        assert str(closed) in str(error.value), damage.what
        assert "memshare restore" in str(error.value)
        assert "memshare memories check" in str(error.value)
        damage.undo()
    assert content(closed) == expected(ITEMS)


def test_a_killed_pool_with_damage_is_refused_or_opens_with_what_it_held(killed: Path, tmp_path: Path) -> None:
    outcomes: Counter[str] = Counter()
    for case in range(KILLED_CASES):
        folder = copied(killed, tmp_path / "pool")
        damage = harm(folder, random.Random(1000 + case))
        try:
            found = content(folder)
        except BadInput as error:  # Damaged, or metadata that cannot be read
            outcomes[f"names the folder: {str(folder) in str(error)}"] += 1
        else:
            assert found == expected(ITEMS[1:]), damage.what
            outcomes["right"] += 1
    assert set(outcomes) == {"names the folder: True", "right"}


def test_a_pool_that_was_killed_opens_with_everything_in_it(killed: Path, tmp_path: Path) -> None:
    assert content(copied(killed, tmp_path / "pool")) == expected(ITEMS[1:])


def test_a_file_that_ends_who_reads_it_ends_another_process(killed: Path, tmp_path: Path) -> None:
    folder = copied(killed, tmp_path / "pool")
    for file in folder.rglob("page_0.dat"):
        file.write_bytes(b"\xff" * 100)

    with pytest.raises(Damaged, match="reading all of it ended with"):
        EdgeStore.open(folder, LAYOUT, "a test")


def test_a_copy_whose_holes_were_filled_is_the_same_pool(closed: Path, tmp_path: Path) -> None:
    shutil.copytree(closed, tmp_path / "pool")

    assert content(tmp_path / "pool") == expected(ITEMS)


def test_a_pool_from_before_there_were_seals_opens_and_gets_one(closed: Path, tmp_path: Path) -> None:
    folder = copied(closed, tmp_path / "pool")
    (folder / "seal.json").unlink()

    assert content(folder) == expected(ITEMS)
    assert (folder / "seal.json").exists()


def test_a_killed_pool_that_lost_memories_is_refused_on_the_same_start_of_the_machine(
    killed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = copied(killed, tmp_path / "pool")
    more = 7
    with (folder / "tally.bin").open("r+b") as file:  # as if so many had been written that are not there
        found = edge_integrity.left_behind(folder)
        assert found is not None
        slot = edge_integrity._slot(edge_integrity.Sum(found.sums[0].memories + more, 1))
        file.seek(edge_integrity._PLACES[0])
        file.write(slot * 2)

    with pytest.raises(Damaged, match=r"it held 126 memories when its process ended, and now 119"):
        EdgeStore.open(folder, LAYOUT, "a test")

    # After a loss of power what was not yet on the disk is gone, and that is no damage.
    another = tmp_path / "boot_id"
    another.write_text("another start of the machine")
    monkeypatch.setattr(edge_integrity, "_BOOT_ID", another)
    with caplog.at_level(logging.WARNING):
        assert content(folder) == expected(ITEMS[1:])
    assert "it has 119 memories, and 126 were written" in caplog.text


@pytest.mark.parametrize("name", ["seal.json", "tally.bin"])
def test_a_seal_or_a_tally_that_cannot_be_read_is_named(closed: Path, killed: Path, tmp_path: Path, name: str) -> None:
    folder = copied(closed if name == "seal.json" else killed, tmp_path / "pool")
    (folder / name).write_bytes(struct.pack("<100Q", *range(100)))

    with pytest.raises(Damaged, match=f"its {name} cannot be read"):
        EdgeStore.open(folder, LAYOUT, "a test")


class PanicException(BaseException):
    """As the engine raises it."""


def test_a_panic_of_the_open_engine_is_tried_again_later_and_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(TryAgain, match=r"failed: index out of bounds\. Its files may be") as error, no_panic(tmp_path):
        raise PanicException("index out of bounds")

    assert str(tmp_path) in str(error.value)
    assert "memshare restore" in str(error.value)
    with pytest.raises(KeyboardInterrupt), no_panic(tmp_path):
        raise KeyboardInterrupt
