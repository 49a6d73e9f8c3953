"""Clusters that were found are kept until the pool changes, without a word of what the memories say."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
import redis

from memshare_concepts.cluster_cache import FOLDER, KEPT, clusters_by_size, clusters_of
from memshare_concepts.clusters import SIZE, Clusters
from memshare_concepts.decisions import Decisions, Merge
from memshare_concepts.pool_graph import PoolConcepts, load
from memshare_memory.curate.requests import Edit, Forget
from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import Memory
from tests.support.clusters import find_clusters
from tests.support.memories import remembered

SUBJECTS = ("Light", "Sea", "Wood", "Wind")


def about(number: int) -> Memory:
    subject = SUBJECTS[number % len(SUBJECTS)]
    levels = {"-1": (f"{subject} {number // 8}",), "0": (subject,), "4": ("Science",)}
    return remembered(f"What is {subject} {number}?", pool="physics", concepts=levels)[0]


MEMORIES = [about(number) for number in range(40)]
Loaded = Callable[[], PoolConcepts]


@pytest.fixture
def loaded(memory: MemoryClient, redis_client: redis.Redis) -> Loaded:
    """Loads the pool as it is now."""
    memory.restore(MEMORIES)
    return lambda: load(memory, redis_client, "physics", vectors=True)


def fresh(concepts: PoolConcepts, size: int = SIZE) -> Clusters:
    return find_clusters(concepts.graph, concepts.ids, concepts.vectors, size=size)


def files(data: Path) -> list[Path]:
    return sorted((data / FOLDER).iterdir())


def make_recognizable(data: Path) -> None:
    """Have all memories in one cluster, in every file that is there."""
    for file in files(data):
        held = dict(np.load(file))
        np.savez(file, **held | {"of": np.ones((1, held["of"].shape[1]), np.int32), "resolutions": np.ones(1)})


def is_recognized(clusters: Clusters) -> bool:
    return [len(level) for level in clusters.levels()] == [1]


def test_clusters_of_an_unchanged_pool_are_read_and_not_found_again(loaded: Loaded, tmp_path: Path) -> None:
    first = clusters_of(loaded(), tmp_path, SIZE)
    again = clusters_of(loaded(), tmp_path, SIZE)
    make_recognizable(tmp_path)

    assert first.levels() == again.levels() == fresh(loaded()).levels()
    assert len(first.levels()[-1]) > 1
    assert is_recognized(clusters_of(loaded(), tmp_path, SIZE))
    by_size = clusters_by_size(loaded(), tmp_path, [4, SIZE])
    assert is_recognized(by_size[SIZE])
    assert by_size[4].levels() == fresh(loaded(), 4).levels()


def test_a_pool_that_has_changed_in_any_way_never_shows_old_clusters(
    loaded: Loaded, memory: MemoryClient, redis_client: redis.Redis, tmp_path: Path
) -> None:
    merge = Merge(of="Sea", into="Light", at=datetime(2026, 5, 1, tzinfo=UTC), by="Ada")
    changes: list[Callable[[], object]] = [
        lambda: memory.forget(Forget(ids=(MEMORIES[0].id,))),
        lambda: memory.restore([MEMORIES[1].model_copy(update={"concepts": MEMORIES[2].concepts})]),
        lambda: memory.edit(Edit(id=MEMORIES[3].id, prompt="What is a photon?", by="Ada")),
        lambda: memory.restore([MEMORIES[3].model_copy(update={"prompt": "What is a photon?"})]),  # another vector
        lambda: Decisions(redis_client, "physics").merge(merge),
    ]
    for change in changes:
        clusters_of(loaded(), tmp_path, SIZE)
        make_recognizable(tmp_path)
        change()

        found = clusters_of(loaded(), tmp_path, SIZE)

        assert not is_recognized(found)
        assert {memory for one in found.levels()[-1] for memory in one.memories} == set(loaded().ids)


def test_what_is_kept_has_neither_texts_nor_names_nor_ids(loaded: Loaded, tmp_path: Path) -> None:
    clusters_of(loaded(), tmp_path, SIZE)

    [file] = files(tmp_path)
    held = file.name.encode() + file.read_bytes()
    for one in MEMORIES:
        for text in (str(one.id), one.id.hex, "Light", "Sea", "Science", one.answer):
            assert text.encode() not in held
        assert one.id.bytes not in held
    assert file.stat().st_size < 1_200 + (8 + 4 * 5) * len(MEMORIES)
    assert (tmp_path / FOLDER).stat().st_mode & 0o077 == 0


def test_only_the_files_that_were_used_last_are_kept(loaded: Loaded, tmp_path: Path) -> None:
    clusters_of(loaded(), tmp_path, SIZE)
    [first] = files(tmp_path)
    os.utime(first, (1, 1))
    for number in range(2, KEPT + 2):
        (tmp_path / FOLDER / f"{number}.npz").touch()
        os.utime(tmp_path / FOLDER / f"{number}.npz", (number, number))

    clusters_of(loaded(), tmp_path, SIZE)  # which uses the oldest
    clusters_of(loaded(), tmp_path, 4)

    names = {file.name for file in files(tmp_path)}
    assert len(names) == KEPT
    assert first.name in names
    assert "2.npz" not in names


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04", b"\x93NUMPY\x01\x00", b"not at all"])
def test_a_damaged_file_is_replaced(loaded: Loaded, tmp_path: Path, damage: bytes) -> None:
    before = clusters_of(loaded(), tmp_path, SIZE).levels()
    [file] = files(tmp_path)
    whole = dict(np.load(file))
    file.write_bytes(damage)

    assert clusters_of(loaded(), tmp_path, SIZE).levels() == before
    assert all((held == whole[name]).all() for name, held in np.load(file).items())


def test_where_nothing_can_be_kept_clusters_are_found_each_time_and_it_is_said(
    loaded: Loaded, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FOLDER).write_text("a file in the place of the folder")

    with caplog.at_level(logging.WARNING):
        found = clusters_of(loaded(), tmp_path, SIZE)

    assert found.levels() == fresh(loaded()).levels()
    assert "The clusters are not kept" in caplog.text
