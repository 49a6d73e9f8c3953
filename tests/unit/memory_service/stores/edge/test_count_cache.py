"""Counts that are kept beside the engine, and what the engine itself counts."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import get_args

import pytest

from memshare_memory.memory import Status
from memshare_memory.stores.edge_store import EdgeStore
from memshare_memory.stores.store import EXACT, Where
from tests.support.memories import LAYOUT, Item, remembered

POOLS, STATUSES = ("poem", "logic", "plan"), get_args(Status)
CONDITIONS = [
    Where(pool=pool, status=status) for pool in (None, *POOLS, "nobody's") for status in (None, *STATUSES, STATUSES, ())
]


def counted_by_engine(store: EdgeStore) -> list[dict[str, int]]:
    """The same counts, for each of which the engine looks at every memory: no submitter has this name."""
    wheres = [Where(pool=one.pool, status=one.status, submitter_not=["nobody"]) for one in CONDITIONS]
    return [store.count(one, by) for one in wheres for by in EXACT]


def kept(store: EdgeStore) -> list[dict[str, int]]:
    return [store.count(one, by) for one in CONDITIONS for by in EXACT]


def drawn(chance: random.Random, names: Sequence[str]) -> Item:
    """A memory of any pool and status; its id is that of its name, whatever its pool."""
    memory, vectors = remembered(chance.choice(names), chance.random() * 90)
    changed = {"pool": chance.choice(POOLS), "status": chance.choice(STATUSES)}
    return memory.model_copy(update=changed), vectors


@pytest.mark.parametrize("seed", range(3))
def test_kept_counts_are_those_of_the_engine_whatever_is_written(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    names = [f"memory {number}" for number in range(60)]
    with closing(EdgeStore.open(tmp_path, LAYOUT, "a test")) as store:
        seen = set()
        for _ in range(40):
            if chance.random() < 0.7:
                store.put([drawn(chance, names) for _ in range(chance.randint(0, 12))])
            else:
                store.delete([drawn(chance, names)[0].id for _ in range(chance.randint(0, 8))])
            assert kept(store) == counted_by_engine(store)
            seen.add(sum(store.count(Where()).values()))
        last = kept(store)
    assert len(seen) > 10, "nothing much was written"

    with closing(EdgeStore.open(tmp_path, LAYOUT, "a test")) as again:
        assert kept(again) == last


def test_threads_that_replace_the_same_memories_count_each_once(tmp_path: Path) -> None:
    names = [f"memory {number}" for number in range(5)]
    with closing(EdgeStore.open(tmp_path, LAYOUT, "a test")) as store:

        def work(seed: int) -> None:
            chance = random.Random(seed)
            for _ in range(25):
                store.put([drawn(chance, names)])
                if chance.random() < 0.3:
                    store.delete([drawn(chance, names)[0].id])

        with ThreadPoolExecutor(6) as threads:
            list(threads.map(work, range(6)))

        assert kept(store) == counted_by_engine(store)


def test_a_write_that_failed_halfway_is_counted_by_the_engine(tmp_path: Path) -> None:
    good, (bad, vectors) = remembered("good"), remembered("bad")
    with closing(EdgeStore.open(tmp_path, LAYOUT, "a test")) as store:
        store.put([good])
        with pytest.raises(Exception, match="dimension"):
            store.put([remembered("another"), (bad, vectors._replace(dense=vectors.dense[:3]))])

        assert kept(store) == counted_by_engine(store)


def test_a_memory_that_comes_twice_in_one_write_is_there_once_as_it_was_last(tmp_path: Path) -> None:
    memory, vectors = remembered("moon")
    with closing(EdgeStore.open(tmp_path, LAYOUT, "a test")) as store:
        store.put([(memory, vectors), (memory.model_copy(update={"status": "hidden"}), vectors)])

        assert store.count(Where(status="hidden")) == {"poem": 1}
        assert [one.status for one in store.page(Where(), 9).memories] == ["hidden"]
