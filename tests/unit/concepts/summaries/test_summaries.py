"""Summaries are found again by what their cluster has, and go with every memory that they were written from."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import pytest
import redis

from memshare_concepts.quoting import Sentence
from memshare_concepts.summaries import MOST, ClusterSummary, Summaries
from memshare_memory.curate.requests import Forget
from memshare_memory.door.client import MemoryClient
from tests.support.memories import remembered

IDS = [UUID(int=number) for number in range(100)]


def of(members: Sequence[UUID], *, made: float = 1.0, read: Sequence[UUID] | None = None) -> ClusterSummary:
    shown = tuple(members if read is None else read)
    return ClusterSummary(
        sentences=(Sentence(text="A secret.", cites=shown[:1]),),
        read=shown,
        members=tuple(members),
        model="m",
        made=made,
    )


def test_the_summary_of_the_cluster_that_has_most_in_common_is_found_and_at_least_half(
    redis_client: redis.Redis,
) -> None:
    kept = Summaries(redis_client, "plan")
    first, second = of(IDS[:10]), of(IDS[6:16])
    kept.keep(first)
    kept.keep(second)

    assert kept.of(IDS[:10], IDS) == kept.of(IDS[:7], IDS) == first
    assert kept.of(IDS[8:16], IDS) == second
    assert kept.of(IDS[:5], IDS) == first  # exactly half
    assert kept.of(IDS[:4], IDS) is None
    assert kept.of(IDS[20:30], IDS) is None
    assert kept.of(IDS[8:16], IDS[7:]) is None, "what it was written from is not shown any more"
    assert Summaries(redis_client, "poem").of(IDS[:10], IDS) is None


def test_a_new_summary_of_the_same_cluster_takes_the_place_of_the_old_one(redis_client: redis.Redis) -> None:
    kept = Summaries(redis_client, "plan")
    kept.keep(of(IDS[:10], made=1))

    kept.keep(of(IDS[:10][::-1], made=2))

    assert [one.made for one in kept.all()] == [2]


@pytest.mark.parametrize(
    ("members", "changed", "stale"),
    [(IDS[:10], 0, False), (IDS[:11], 1, False), (IDS[:8], 2, True), (IDS[1:11], 2, True), (IDS[:12], 2, True)],
)
def test_a_summary_is_stale_once_a_fifth_is_new_or_gone(members: list[UUID], changed: int, stale: bool) -> None:
    made = of(IDS[:10])

    assert (made.changed(members), made.is_stale(members)) == (changed, stale)


def test_the_oldest_summaries_of_a_pool_go_first(redis_client: redis.Redis) -> None:
    kept = Summaries(redis_client, "plan")
    for number in range(MOST + 2):
        kept.keep(of([UUID(int=number + 1_000)], made=float(number)))

    assert [one.made for one in kept.all()] == [float(number) for number in reversed(range(2, MOST + 2))]


def test_a_summary_goes_with_a_memory_that_it_was_written_from_and_purged_ids_with_the_rest(
    memory: MemoryClient, redis_client: redis.Redis
) -> None:
    memories = [remembered(f"What is {name}?", pool="plan")[0] for name in ("a sail", "a mast", "a tide", "a keel")]
    memory.restore(memories)
    sail, mast, tide, keel = (one.id for one in memories)
    kept = Summaries(redis_client, "plan")
    not_read, both_read = of([sail, mast, tide], read=[mast, sail]), of([sail, keel])
    for one in (not_read, both_read, of([keel, tide])):
        kept.keep(one)

    memory.forget(Forget(ids=(tide,)))
    assert {one.id for one in kept.all()} == {not_read.id, both_read.id}
    memory.purge(Forget(ids=(tide,)))  # from the trash
    assert kept.all() == [both_read]
    memory.purge(Forget(ids=(keel,)))
    assert kept.all() == []
