"""A person's slip can be undone, and what is purged is gone."""

from __future__ import annotations

from uuid import UUID

import pytest
import redis

from memshare_broker.errors import BadInput
from memshare_memory.admit.seeds import seeds_mean
from memshare_memory.belief.bandit import Credit, in_general
from memshare_memory.belief.credibility_ranking import CredibilityRanking
from memshare_memory.curate.curate import Curate
from memshare_memory.curate.forgetting import Forgetting
from memshare_memory.curate.requests import Edit, Forget, NewMemory, RestoreForgotten, TrashRequest
from memshare_memory.memory import Credibility, Memory
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import Recall
from memshare_memory.stores.store import Store, Where
from memshare_memory.trash import INDEX, KEEP_SECONDS
from tests.support.memories import remembered


def memory(prompt: str, **fields: object) -> Memory:
    return remembered(prompt, **fields)[0]


def in_trash(forgetting: Forgetting) -> list[UUID]:
    return [one.memory.id for one in forgetting.trash(TrashRequest()).forgotten]


def shown(recall: Recall, text: str) -> list[UUID]:
    """What an agent with this task would be shown."""
    return [hit.memory.id for hit in recall.nearest("poem", text, recall.embed(text).unpack(), 3).hits]


def test_what_was_forgotten_comes_back_as_it_was(
    curate: Curate, forgetting: Forgetting, recall: Recall, redis_client: redis.Redis
) -> None:
    lamp, boat = memory("red lamp", score=90), memory("red lamp too", answer="No.")
    curate.restore([lamp, boat])
    ranking = CredibilityRanking(redis_client)
    ranking.arms.add("poem", "task", [Credit(lamp.id, in_general(lamp), 0.3)])
    ranking.conflicts.judge("poem", lamp.id, boat.id, "wrong")
    before, conflicts = curate.judge([lamp.id]), curate.conflicts("poem")
    assert [one.right for one in conflicts] == [boat.id]
    assert before[0][1].credits == 1

    forgetting.forget(Forget(ids=(lamp.id,)))

    assert lamp.id not in shown(recall, "red lamp")
    assert in_trash(forgetting) == [lamp.id]
    assert (seeds_mean(redis_client, "poem"), curate.conflicts("poem")) == (None, [])

    restored = forgetting.restore(RestoreForgotten(ids=(lamp.id,)))

    assert (restored.restored, restored.there) == ((lamp.id,), ())
    assert (curate.judge([lamp.id]), curate.conflicts("poem")) == (before, conflicts)
    assert lamp.id in shown(recall, "red lamp")
    assert (seeds_mean(redis_client, "poem"), in_trash(forgetting)) == (90, [])


def test_all_of_a_submitter_come_back(curate: Curate, forgetting: Forgetting) -> None:
    own, other = memory("red lamp", submitter="ada"), memory("old shoe", submitter="eve")
    curate.restore([own, other])

    assert forgetting.forget(Forget(submitter="ada")) == [own.id]

    forgetting.restore(RestoreForgotten(submitter="ada"))
    assert (curate.get(own.id), curate.get(other.id)) == (own, other)


def test_what_the_pool_has_again_is_not_overwritten(curate: Curate, forgetting: Forgetting) -> None:
    curate.restore([memory("red lamp", score=50)])
    [one] = forgetting.forget(Forget(ids=(memory("red lamp").id,)))
    curate.restore([memory("red lamp", score=95)])

    restored = forgetting.restore(RestoreForgotten(ids=(one,)))

    assert (restored.restored, restored.there) == ((), (one,))
    assert curate.get(one).score == 95
    assert in_trash(forgetting) == [one]


def test_one_that_was_forgotten_half_way_is_forgotten_again_or_restored(
    curate: Curate, forgetting: Forgetting, recall: Recall
) -> None:
    lamp = memory("red lamp", score=50)
    curate.restore([lamp])
    forgetting.forget(Forget(ids=(lamp.id,)))
    recall.store.put([(lamp, recall.vectors([lamp])[0])])  # as if it had been killed before it removed it

    assert forgetting.restore(RestoreForgotten(ids=(lamp.id,))).there == (lamp.id,)
    assert (curate.get(lamp.id), in_trash(forgetting)) == (lamp, [])


def test_the_last_one_forgotten_is_shown_first_and_each_goes_at_its_time(
    curate: Curate, forgetting: Forgetting, redis_client: redis.Redis
) -> None:
    first, second = curate.add([NewMemory(pool="poem", answer=text) for text in ("First.", "Second.")])
    forgetting.forget(Forget(ids=(first,)))
    forgetting.forget(Forget(ids=(second,)))

    assert in_trash(forgetting) == [second, first]
    assert [len(forgetting.trash(TrashRequest(prefix=str(first)[:8])).forgotten)] == [1]
    times = [redis_client.ttl(key) for key in redis_client.scan_iter(f"{INDEX}:memory:*")]
    assert len(times) == 2
    assert all(KEEP_SECONDS - 60 < seconds <= KEEP_SECONDS for seconds in times)

    for key in list(redis_client.scan_iter(f"{INDEX}:memory:*")):
        redis_client.pexpire(key, 0)
    redis_client.zadd(INDEX, {str(first): 1, str(second): 1})
    page = forgetting.trash(TrashRequest())
    assert (page.total, page.forgotten) == (0, ())


def test_what_is_not_in_the_trash_cannot_be_restored(curate: Curate, forgetting: Forgetting) -> None:
    [one] = curate.add([NewMemory(pool="poem", answer="First.")])

    with pytest.raises(BadInput, match=f"The trash has no memory '{one}'"):
        forgetting.restore(RestoreForgotten(ids=(one,)))
    with pytest.raises(BadInput, match="Say what to restore"):
        forgetting.restore(RestoreForgotten())


def test_what_is_in_the_trash_is_not_forgotten_again(curate: Curate, forgetting: Forgetting) -> None:
    first, second = curate.add([NewMemory(pool="poem", answer=text) for text in ("First.", "Second.")])
    forgetting.forget(Forget(ids=(first,)))

    with pytest.raises(BadInput, match="is in the trash already; nothing was forgotten"):
        forgetting.forget(Forget(ids=(first, second)))

    assert curate.get(second).answer == "Second."


def test_a_memory_that_cannot_be_read_is_forgotten_by_its_id(
    curate: Curate, forgetting: Forgetting, store: Store, recall: Recall
) -> None:
    lamp, boat = memory("red lamp"), memory("green boat")
    curate.restore([lamp, boat])
    unreadable = lamp.model_copy(update={"created": -1.0})
    store.put([(unreadable, recall.vectors([lamp])[0])])

    assert forgetting.forget(Forget(ids=(lamp.id,))) == [lamp.id]

    assert store.dense_of([lamp.id]) == {}
    assert [one.id for one in store.page(Where(), 10).memories] == [boat.id]


def test_a_preview_counts_what_was_derived_and_takes_nothing(
    store: Store, curate: Curate, forgetting: Forgetting
) -> None:
    first = memory("first", submitter="mallory")
    second = memory("second", parents=(first.id,), pool="plan")
    third = memory("third", parents=(second.id,))
    curate.restore([first, second, third])

    preview = forgetting.preview(Forget(submitter="mallory", with_children=True))

    assert (preview.memories, preview.derived, preview.by_pool) == (3, 2, {"plan": 1, "poem": 2})
    assert {one.id for one in preview.examples} == {first.id, second.id, third.id}
    assert store.count(Where()) == {"plan": 1, "poem": 2}


def test_what_is_purged_is_in_neither_the_pool_nor_the_trash(
    store: Store, curate: Curate, forgetting: Forgetting, redis_client: redis.Redis
) -> None:
    first = memory("first", submitter="mallory")
    second = memory("second", submitter="mallory", answer="A secret.")
    child = memory("child", parents=(second.id,))
    curate.restore([first, second, child])
    forgetting.forget(Forget(ids=(second.id,)))

    purged = forgetting.purge(Forget(submitter="mallory", with_children=True))

    assert set(purged.memories) == {first.id, second.id, child.id}
    assert (store.count(Where()), in_trash(forgetting)) == ({}, [])
    assert not list(redis_client.scan_iter("memshare:trash*"))


def test_who_changed_a_memory_is_not_known_any_more_when_they_are_purged(
    curate: Curate, forgetting: Forgetting
) -> None:
    [one] = curate.add([NewMemory(pool="poem", answer="It opens at nine.")])
    curate.edit(Edit(id=one, answer="It opens at ten.", by="eve"))

    forgetting.purge(Forget(submitter="eve"))

    [revision] = curate.get(one).history
    assert (revision.answer, revision.by) == ("It opens at nine.", None)


def test_the_trash_outlives_the_memory_service(pool: Pool, redis_client: redis.Redis) -> None:
    [one] = Curate(pool, redis_client).add([NewMemory(pool="poem", answer="First.")])
    Forgetting(pool, redis_client).forget(Forget(ids=(one,)))

    assert Forgetting(pool, redis_client).restore(RestoreForgotten(ids=(one,))).restored == (one,)


def test_with_roll_back_the_credit_that_a_submitters_tasks_gave_is_taken_back_in_the_pool_and_in_the_trash(
    curate: Curate, forgetting: Forgetting, redis_client: redis.Redis
) -> None:
    lamp, boat, own = memory("red lamp"), memory("old boat", answer="No."), memory("my shoe", submitter="mallory")
    curate.restore([lamp, boat, own])
    arms = CredibilityRanking(redis_client).arms
    arms.add("poem", "fair", [Credit(one.id, in_general(one), 0.9) for one in (lamp, boat)], submitter="ada")

    def judged() -> list[Credibility]:
        return [curate.judge([one.id])[0][1] for one in (lamp, boat, own)]

    fair = judged()
    for number in range(5):
        boost = [Credit(one.id, in_general(one), 1.5) for one in (lamp, boat, own)]
        arms.add("poem", f"task {number}", boost, submitter="mallory")
    forgetting.forget(Forget(ids=(boat.id,)))
    assert curate.judge([lamp.id])[0][1].p > fair[0].p + 0.2

    forgetting.forget(Forget(submitter="mallory", roll_back=True))
    forgetting.restore(RestoreForgotten(ids=(boat.id, own.id)))

    assert [how.p for how in judged()] == pytest.approx([how.p for how in fair])
    assert [how.credits for how in judged()] == [1, 1, 0]


def test_without_roll_back_a_forgotten_submitters_credit_stays(
    curate: Curate, forgetting: Forgetting, redis_client: redis.Redis
) -> None:
    lamp = memory("red lamp")
    curate.restore([lamp])
    arms = CredibilityRanking(redis_client).arms
    arms.add("poem", "task", [Credit(lamp.id, in_general(lamp), 0.9)], submitter="mallory")
    before = curate.judge([lamp.id])

    forgetting.forget(Forget(submitter="mallory"))

    assert curate.judge([lamp.id]) == before


def test_a_purged_submitters_name_is_in_no_key(
    curate: Curate, forgetting: Forgetting, redis_client: redis.Redis
) -> None:
    lamp = memory("red lamp")
    curate.restore([lamp])
    arms = CredibilityRanking(redis_client).arms
    arms.add("poem", "task", [Credit(lamp.id, in_general(lamp), 0.9)], submitter="mallory")
    assert any("mallory" in str(key) for key in redis_client.keys("*"))

    forgetting.purge(Forget(submitter="mallory"))

    assert not any("mallory" in str(key) for key in redis_client.keys("*"))
    assert curate.judge([lamp.id])[0][1].credits == 1
