from __future__ import annotations

import pytest
import redis

from memshare.memory_service.admit.lessons import Lessons
from memshare.memory_service.admit.settle import Settle
from memshare.memory_service.memory import Memory
from memshare.memory_service.pool.pool import Pool
from memshare.memory_service.recall.balance import LARGEST, Balance, Earned, Side, balances, moved, sums
from memshare.memory_service.recall.bandit_arms import Graded
from memshare.memory_service.recall.credibility_ranking import CredibilityRanking, FoundFor
from memshare.memory_service.recall.recall import Recall
from memshare.memory_service.stores.store import Hit
from tests.support.graded import graded
from tests.support.memories import remembered

ONE, OTHER = "openai:one", "openai:other"


def memory(prompt: str, model: str | None) -> Memory:
    return remembered(prompt, model=model, kind="limerick")[0]


@pytest.mark.parametrize(
    ("own", "foreign", "shift"),
    [
        (Side(20, 1.1), Side(20, 1.0), 0.05),
        (Side(20, 1.0), Side(20, 1.1), -0.05),
        (Side(500, 1.5), Side(500, 0.0), LARGEST),
        (Side(500, 0.0), Side(500, 1.5), -LARGEST),
        (Side(500, 1.5), Side(), 0.0),
        (Side(), Side(500, 1.5), 0.0),
    ],
)
def test_the_shift_grows_with_the_difference_and_with_what_is_known_and_stays_within_bounds(
    own: Side, foreign: Side, shift: float
) -> None:
    assert Balance(own, foreign).shift == pytest.approx(shift)


def test_memories_of_people_are_not_shifted_nor_any_where_the_answering_model_is_not_known() -> None:
    balance = Balance(Side(20, 1.1), Side(20, 1.0))

    shares = [moved(balance, memory("A lamp", of), ONE) for of in (ONE, OTHER, None)]

    assert shares == pytest.approx([0.05, -0.05, 0.0])
    assert moved(balance, memory("A lamp", ONE), None) == 0.0


def test_a_graded_task_counts_on_the_side_of_who_wrote_what_it_was_shown_once(
    recall: Recall, pool: Pool, redis_client: redis.Redis
) -> None:
    own, foreign, nobodys = (memory(name, of) for name, of in (("A", "scripted"), ("B", OTHER), ("C", None)))
    recall.store.put([(one, recall.vectors([one])[0]) for one in (own, foreign, nobodys)])
    stage = Settle(pool, redis_client, Lessons(share=0))
    pair = graded(recall, "A lamp", "Red.", shown=[own.id, foreign.id, nobodys.id])

    for _ in range(2):
        stage.run("journey-1", pair)

    assert balances(redis_client, "poem") == {"limerick": Balance(Side(1, 1.0), Side(1, 1.0))}


def test_memories_of_the_better_side_stand_before_equals_for_this_model_and_kind_alone(
    recall: Recall, redis_client: redis.Redis
) -> None:
    own, foreign = memory("A lamp", ONE), memory("A shoe", OTHER)
    ranking = CredibilityRanking(redis_client)
    hits = [Hit(one, 0.7, 0.7, None) for one in (own, foreign)]
    for_one = FoundFor("poem", "A light", hits, ONE, "limerick")
    before = ranking.ranked(recall.store, [for_one])

    earned = sums("limerick", ONE, [Earned(foreign, 1.2, 1.0), Earned(own, 0.9, 1.0)] * 40)
    ranking.arms.add("poem", "journey", [], graded=Graded("limerick", 80), balance=earned)

    after = ranking.ranked(recall.store, [for_one, for_one._replace(kind="sonnet"), for_one._replace(model=OTHER)])
    names = [[hit.memory.prompt for hit in some] for some in (*before, *after)]
    assert names == [["A lamp", "A shoe"], ["A shoe", "A lamp"], ["A lamp", "A shoe"], ["A lamp", "A shoe"]]
