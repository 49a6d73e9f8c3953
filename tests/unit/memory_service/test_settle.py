from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
import redis

from broker.messages import GradedTask, Settlement
from memory_service.memory import Memory, memory_id
from memory_service.recall import Recall
from memory_service.settle import NEAR_DUPLICATE, SAME_ANSWERS, Settle, better_rival, memory_of
from memory_service.store import Where
from tests.support.graded import graded
from tests.support.memories import remembered

Run = Callable[[GradedTask], Settlement]


@pytest.fixture
def settle(recall: Recall, redis_client: redis.Redis) -> Run:
    """Settles a pair and says what became of it."""
    stage = Settle(recall, redis_client)

    def run(pair: GradedTask) -> Settlement:
        outcome = stage.run(pair.task.journey, pair)
        assert outcome.following is None
        assert isinstance(outcome.record, Settlement)
        return outcome.record

    return run


def pool(recall: Recall) -> list[Memory]:
    return recall.store.page(Where(), 1000).memories


def scored(score: float | None) -> Memory:
    return remembered(f"scored {score}", score=score)[0]


def test_a_graded_pair_becomes_a_memory_with_all_that_is_known_of_it(recall: Recall) -> None:
    parent = UUID(int=7)
    pair = graded(recall, "A lamp", "There was a lamp", score=92.5, shown=[parent])

    memory = memory_of(pair, created=1.5)

    assert memory == Memory(
        id=memory_id("poem", "A lamp", "There was a lamp"),
        pool="poem",
        prompt="A lamp",
        answer="There was a lamp",
        agent="poem",
        kind="limerick",
        submitter="ada",
        model="scripted",
        score=92.5,
        criteria=pair.score.criteria,
        rubric_version="v1",
        task_id="journey-1",
        parents=(parent,),
        created=1.5,
    )


@pytest.mark.parametrize(
    ("rivals", "best"), [([], None), ([89.9], None), ([90], 90), ([85, 95, 91], 95), ([None], None)]
)
def test_a_rival_is_better_when_its_score_is_at_least_as_high(rivals: list[float | None], best: float | None) -> None:
    found = better_rival(scored(90), [scored(rival) for rival in rivals])

    assert (found and found.score) == best


def test_a_poor_answer_is_not_remembered(recall: Recall, settle: Run) -> None:
    settlement = settle(graded(recall, "A lamp", "There was a lamp", score=80.9))

    assert settlement.outcome == "rejected"
    assert settlement.memory_id is None
    assert settlement.reason == "its score 80.9 is below the threshold 81.0"
    assert pool(recall) == []


def test_a_good_answer_is_stored_and_found_by_its_prompt(recall: Recall, settle: Run) -> None:
    settlement = settle(graded(recall, "A lamp", "There was a lamp", score=81))

    assert settlement.outcome == "stored"
    assert [memory.id for memory in pool(recall)] == [settlement.memory_id]
    (hit,) = recall.nearest("poem", "A lamp", recall.embed("A lamp").unpack(), 3, "hybrid").hits
    assert (hit.memory.id, hit.similarity) == (settlement.memory_id, pytest.approx(1))


def test_settling_twice_stores_once_and_says_the_same(recall: Recall, settle: Run) -> None:
    pair = graded(recall, "A lamp", "There was a lamp")

    first, second = settle(pair), settle(pair)

    assert first == second
    assert first.outcome == "stored"
    assert len(pool(recall)) == 1


def test_settling_a_duplicate_twice_says_the_same(recall: Recall, settle: Run) -> None:
    settle(graded(recall, "A lamp", "There was a lamp", score=95))
    worse = graded(recall, "A lamp", "There was a lamp", score=90, journey="journey-2")

    first, second = settle(worse), settle(worse)

    assert first == second
    assert first.outcome == "duplicate"


@pytest.mark.parametrize("again", ["There was a lamp", "there was  a LAMP\n"])
@pytest.mark.parametrize("score", [90, 95])
def test_the_same_answer_with_no_better_score_is_a_duplicate(
    recall: Recall, settle: Run, again: str, score: float
) -> None:
    kept = settle(graded(recall, "A lamp", "There was a lamp", score=95))

    settlement = settle(graded(recall, "A lamp!", again, score=score, journey="journey-2"))

    assert settlement.outcome == "duplicate"
    assert settlement.memory_id == kept.memory_id
    assert settlement.reason == "the pool has it already, with a score of 95.0"
    assert [(memory.id, memory.task_id) for memory in pool(recall)] == [(kept.memory_id, "journey-1")]


@pytest.mark.parametrize("again", ["There was a lamp", "there was  a LAMP\n"])
def test_the_same_answer_with_a_better_score_takes_the_place_of_the_old_one(
    recall: Recall, settle: Run, again: str
) -> None:
    settle(graded(recall, "A lamp", "There was a lamp", score=90))

    settlement = settle(graded(recall, "A lamp!", again, score=95, journey="journey-2"))

    assert settlement.outcome == "replaced"
    assert settlement.reason == "it is better than the same answer with a score of 90.0"
    (left,) = pool(recall)
    assert (left.id, left.score, left.task_id) == (settlement.memory_id, 95, "journey-2")


def test_an_exact_duplicate_with_a_better_score_keeps_its_id(recall: Recall, settle: Run) -> None:
    old = settle(graded(recall, "A lamp", "There was a lamp", score=90))

    new = settle(graded(recall, "A lamp", "There was a lamp", score=95, journey="journey-2"))

    assert new.outcome == "replaced"
    assert new.memory_id == old.memory_id
    assert [memory.score for memory in pool(recall)] == [95]


def test_another_answer_to_the_same_prompt_is_kept_beside_the_first(recall: Recall, settle: Run) -> None:
    settle(graded(recall, "A lamp", "There was a lamp"))

    settlement = settle(graded(recall, "A lamp", "A lamp there was", journey="journey-2"))

    assert settlement.outcome == "stored"
    assert len(pool(recall)) == 2


def test_the_same_answer_to_another_prompt_is_kept_beside_the_first(recall: Recall, settle: Run) -> None:
    words = " ".join(f"word{number}" for number in range(20))
    one, other = f"{words} lamp", f"{words} shoe"
    assert 0.9 < recall.embed(one).unpack() @ recall.embed(other).unpack() < NEAR_DUPLICATE
    settle(graded(recall, one, "There was"))

    settlement = settle(graded(recall, other, "There was", journey="journey-2"))

    assert settlement.outcome == "stored"
    assert len(pool(recall)) == 2


def test_the_same_pair_is_stored_in_each_pool(recall: Recall, settle: Run) -> None:
    settle(graded(recall, "A lamp", "There was a lamp", pool="poem"))

    settlement = settle(graded(recall, "A lamp", "There was a lamp", pool="logic", journey="journey-2"))

    assert settlement.outcome == "stored"
    assert recall.store.count(Where()) == {"poem": 1, "logic": 1}


def test_a_near_duplicate_is_found_behind_many_other_answers_to_the_prompt(recall: Recall, settle: Run) -> None:
    words = " ".join(f"word{number}" for number in range(80))
    one, other = f"{words} lamp", f"{words} shoe"
    assert NEAR_DUPLICATE < recall.embed(one).unpack() @ recall.embed(other).unpack() < 0.999
    kept = settle(graded(recall, one, "There was", score=95))
    for number in range(2 * SAME_ANSWERS + 1):
        settle(graded(recall, other, f"Shoe {number}", journey=f"other-{number}"))

    again = settle(graded(recall, other, "there was", score=90, journey="journey-2"))

    assert again.outcome == "duplicate"
    assert again.memory_id == kept.memory_id


def test_threads_that_settle_the_same_answer_together_store_it_once(recall: Recall, settle: Run) -> None:
    threads, rounds = 12, 2
    for number in range(rounds):
        start = threading.Barrier(threads)
        pairs = [
            graded(
                recall,
                f"Lamp number{number}",
                "there was a lamp" + " " * place,
                score=85 + place / 2,
                journey=f"{place}",
            )
            for place in range(threads)
        ]
        assert len({memory_of(pair, 0).id for pair in pairs}) == threads

        def run(pair: GradedTask, start: threading.Barrier = start) -> Settlement:
            start.wait(30)
            return settle(pair)

        with ThreadPoolExecutor(threads) as executor:
            settlements = list(executor.map(run, pairs))

        stored = [memory for memory in pool(recall) if memory.prompt == f"Lamp number{number}"]
        assert [memory.score for memory in stored] == [85 + (threads - 1) / 2]
        assert [one.outcome for one in settlements].count("stored") == 1


def test_a_memory_that_a_person_has_hidden_does_not_come_back_with_a_better_score(recall: Recall, settle: Run) -> None:
    first = settle(graded(recall, "A lamp", "There was a lamp", score=85))
    hidden = recall.store.page(Where(ids=[first.memory_id]), 1).memories[0].model_copy(update={"status": "hidden"})
    recall.store.put([(hidden, recall.vectors([hidden])[0])])

    again = settle(graded(recall, "A lamp", "there was a  lamp", score=99, journey="journey-2"))

    assert again.outcome == "duplicate"
    assert recall.nearest("poem", "A lamp", recall.embed("A lamp").unpack(), 3, "dense").hits == []
