from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from uuid import UUID

import pytest
import redis

from memshare_broker.delivery.hops import LEARN
from memshare_broker.delivery.journey_records import OPINION, pack, unremembered
from memshare_broker.delivery.schema import journey_key
from memshare_broker.wire.grades import GradedTask, Opinion, Settlement
from memshare_broker.wire.lessons import LessonTask
from memshare_broker.wire.messages import SeedPair
from memshare_memory.admit.admission import NEAR_DUPLICATE, SAME_ANSWERS, memory_of, that_stands
from memshare_memory.admit.after import FEWEST_CANDIDATES, Lessons
from memshare_memory.admit.seeds import seeds_mean
from memshare_memory.admit.settle import SettleStage
from memshare_memory.belief.bandit import Arms
from memshare_memory.belief.lift import pools_counted
from memshare_memory.memory import Memory, memory_id
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import CANDIDATES, Recall
from memshare_memory.stores.store import Where
from tests.support.graded import as_pair, graded
from tests.support.memories import remembered

Run = Callable[[GradedTask], Settlement]


@pytest.fixture
def stage(pool: Pool, redis_client: redis.Redis) -> SettleStage:
    return SettleStage(pool, redis_client, Lessons(redis_client, 1))


@pytest.fixture
def settle(stage: SettleStage) -> Run:
    """Settles a pair and says what became of it."""

    def run(pair: GradedTask) -> Settlement:
        outcome = stage.run(pair.task.journey, pair)
        assert isinstance(outcome.record, Settlement)
        return outcome.record

    return run


def memories(recall: Recall) -> list[Memory]:
    return recall.store.page(Where(), 1000).memories


def scored(score: float | None) -> Memory:
    return remembered(f"scored {score}", score=score, task_id=f"task {score}")[0]


def test_a_graded_pair_becomes_a_memory_with_all_that_is_known_of_it(recall: Recall) -> None:
    parent = UUID(int=7)
    pair = graded(recall, "A lamp", "There was a lamp", score=92.5)

    memory = memory_of(pair, created=1.5, parents=[parent])

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


@pytest.mark.parametrize(("rivals", "best"), [([], None), ([89.9], None), ([90], 90), ([85, 95, 91], 95)])
def test_a_rival_is_better_when_its_score_is_at_least_as_high(rivals: list[float], best: float | None) -> None:
    found = that_stands(scored(90), [scored(rival) for rival in rivals])

    assert (found and found.score) == best


def test_a_poor_answer_is_not_remembered(recall: Recall, settle: Run) -> None:
    settlement = settle(graded(recall, "A lamp", "There was a lamp", score=80.9))

    assert settlement.outcome == "rejected"
    assert settlement.memory_id is None
    assert settlement.reason == "its score 80.9 is below the threshold 81.0"
    assert memories(recall) == []


def test_a_good_answer_is_stored_and_found_by_its_prompt(recall: Recall, settle: Run) -> None:
    settlement = settle(graded(recall, "A lamp", "There was a lamp", score=81))

    assert settlement.outcome == "stored"
    assert [memory.id for memory in memories(recall)] == [settlement.memory_id]
    (hit,) = recall.nearest("poem", "A lamp", recall.embed("A lamp").unpack(), 3, "hybrid").hits
    assert (hit.memory.id, hit.similarity) == (settlement.memory_id, pytest.approx(1))


def test_a_memory_names_as_its_parents_what_its_answer_follows(recall: Recall, settle: Run) -> None:
    answers = ("There was a red lamp", "Nobody has seen it.")
    followed, ignored = (settle(graded(recall, f"A thing {one}", one)) for one in answers)
    gone = UUID(int=7)
    shown = [one for one in (followed.memory_id, ignored.memory_id, gone) if one is not None]

    new = settle(graded(recall, "Another thing", "So there was a red lamp.", journey="j2", shown=shown))

    [memory] = [one for one in memories(recall) if one.id == new.memory_id]
    assert memory.parents == (followed.memory_id, gone)


@pytest.mark.parametrize("hides", [True, False])
def test_an_answer_that_was_said_to_be_wrong_before_it_is_settled_is_hidden(
    recall: Recall, stage: SettleStage, redis_client: redis.Redis, hides: bool
) -> None:
    opinion = Opinion(by="ada", reward=0.0, hides=hides)
    redis_client.hset(journey_key("journey-1"), OPINION, pack(opinion.model_dump_json()))

    outcome = stage.run("journey-1", graded(recall, "A lamp", "There was a lamp"))

    [memory] = memories(recall)
    assert memory.status == ("hidden" if hides else "active")
    assert bool(recall.nearest("poem", "A lamp", recall.embed("A lamp").unpack(), 3).hits) != hides
    assert isinstance(outcome.record, Settlement)
    assert outcome.record.outcome == "stored"


def test_what_a_task_was_shown_is_read_once_for_its_credit_and_once_for_its_pair(
    recall: Recall, settle: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = settle(graded(recall, "A lamp", "There was a lamp")).memory_id
    assert seen is not None
    settle(graded(recall, "A ship", "There was a ship", journey="journey-0", shown=[seen]))  # once a day it is written
    asked = Counter[str]()

    def counted(name: str, ask: Callable[..., object], *args: object, **options: object) -> object:
        asked[name] += 1
        return ask(*args, **options)

    for name in ("page", "put", "note_credibility"):
        monkeypatch.setattr(recall.store, name, partial(counted, name, getattr(recall.store, name)))
    settle(graded(recall, "A boat", "There was a boat", journey="journey-2", shown=[seen]))

    assert asked == {"page": 2, "put": 1, "note_credibility": 1}  # a server takes some 10 ms for each


def test_the_trash_and_the_pools_counted_take_no_round_trip_of_their_own(
    recall: Recall, settle: Run, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = settle(graded(recall, "A lamp", "There was a lamp")).memory_id
    assert seen is not None
    pair = graded(recall, "A boat", "There was a boat", journey="journey-2", shown=[seen])
    asked, ask = list[str](), redis_client.execute_command

    def noted(*command: object, **options: object) -> object:
        asked.append(" ".join(map(str, command)))
        return ask(*command, **options)

    monkeypatch.setattr(redis_client, "execute_command", noted)
    settle(pair.model_copy(update={"task": pair.task.model_copy(update={"randomized": True})}))

    assert pools_counted(redis_client) == {"poem"}
    assert [one for one in asked if "memshare:trash" in one or one.startswith("SADD")] == []


def test_settling_twice_stores_once_and_says_the_same(recall: Recall, settle: Run) -> None:
    pair = graded(recall, "A lamp", "There was a lamp")

    first, second = settle(pair), settle(pair)

    assert first == second
    assert first.outcome == "stored"
    assert len(memories(recall)) == 1


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
    assert [(memory.id, memory.task_id) for memory in memories(recall)] == [(kept.memory_id, "journey-1")]


@pytest.mark.parametrize("again", ["There was a lamp", "there was  a LAMP\n"])
def test_the_same_answer_with_a_better_score_takes_the_place_of_the_old_one(
    recall: Recall, settle: Run, again: str
) -> None:
    settle(graded(recall, "A lamp", "There was a lamp", score=90))

    settlement = settle(graded(recall, "A lamp!", again, score=95, journey="journey-2"))

    assert settlement.outcome == "replaced"
    assert settlement.reason == "it is better than the same answer with a score of 90.0"
    (left,) = memories(recall)
    assert (left.id, left.score, left.task_id) == (settlement.memory_id, 95, "journey-2")


def test_an_exact_duplicate_with_a_better_score_keeps_its_id(recall: Recall, settle: Run) -> None:
    old = settle(graded(recall, "A lamp", "There was a lamp", score=90))

    new = settle(graded(recall, "A lamp", "There was a lamp", score=95, journey="journey-2"))

    assert new.outcome == "replaced"
    assert new.memory_id == old.memory_id
    assert [memory.score for memory in memories(recall)] == [95]


def test_another_answer_to_the_same_prompt_is_kept_beside_the_first(recall: Recall, settle: Run) -> None:
    settle(graded(recall, "A lamp", "There was a lamp"))

    settlement = settle(graded(recall, "A lamp", "A lamp there was", journey="journey-2"))

    assert settlement.outcome == "stored"
    assert len(memories(recall)) == 2


def test_the_same_answer_to_another_prompt_is_kept_beside_the_first(recall: Recall, settle: Run) -> None:
    words = " ".join(f"word{number}" for number in range(20))
    one, other = f"{words} lamp", f"{words} shoe"
    assert 0.9 < recall.embed(one).unpack() @ recall.embed(other).unpack() < NEAR_DUPLICATE
    settle(graded(recall, one, "There was"))

    settlement = settle(graded(recall, other, "There was", journey="journey-2"))

    assert settlement.outcome == "stored"
    assert len(memories(recall)) == 2


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

        stored = [memory for memory in memories(recall) if memory.prompt == f"Lamp number{number}"]
        assert [memory.score for memory in stored] == [85 + (threads - 1) / 2]
        assert [one.outcome for one in settlements].count("stored") == 1


def test_a_memory_that_a_person_has_hidden_does_not_come_back_with_a_better_score(recall: Recall, settle: Run) -> None:
    first = settle(graded(recall, "A lamp", "There was a lamp", score=85))
    hidden = recall.store.page(Where(ids=[first.memory_id]), 1).memories[0].model_copy(update={"status": "hidden"})
    recall.store.put([(hidden, recall.vectors([hidden])[0])])

    again = settle(graded(recall, "A lamp", "there was a  lamp", score=99, journey="journey-2"))

    assert again.outcome == "duplicate"
    assert recall.nearest("poem", "A lamp", recall.embed("A lamp").unpack(), 3, "dense").hits == []


def test_what_is_stored_becomes_a_lesson_with_the_pool_from_before_it(recall: Recall, stage: SettleStage) -> None:
    earlier = [graded(recall, f"A lamp of glass {n}", f"There was {n}", journey=f"journey-{n}") for n in range(9)]
    followings = [stage.run(pair.task.journey, pair).followings for pair in earlier]
    assert [len(some) for some in followings] == [0] * FEWEST_CANDIDATES + [1] * (9 - FEWEST_CANDIDATES)

    new = graded(recall, "A lamp of tin", "There is", journey="journey-10")
    [following] = stage.run("journey-10", new).followings

    assert following.hop is LEARN
    lesson = following.body
    assert isinstance(lesson, LessonTask)
    assert (lesson.journey, lesson.pool, lesson.prompt, lesson.answer) == (
        "journey-10",
        "poem",
        "A lamp of tin",
        "There is",
    )
    assert lesson.memory_id == memory_id("poem", "A lamp of tin", "There is")
    assert {one.id for one in lesson.candidates} == {memory_of(pair, 0).id for pair in earlier}
    assert {one.submitter for one in lesson.candidates} == {"ada"}
    vectors = {one.prompt: one.embedding.unpack() for one in lesson.candidates}
    assert vectors["A lamp of glass 1"] == pytest.approx(recall.embed("A lamp of glass 1").unpack())
    assert lesson.embedding == new.task.embedding


def test_a_lesson_that_is_made_twice_is_the_same(recall: Recall, stage: SettleStage) -> None:
    for number in range(3 * CANDIDATES // 2):
        prompt = "A lamp of tin" + " and more" * (number + 1)  # each less like the new one
        stage.run(f"journey-{number}", graded(recall, prompt, f"Yes {number}", journey=f"journey-{number}"))
    new = graded(recall, "A lamp of tin", "There is", journey="journey-9")

    first, second = (stage.run("journey-9", new) for _ in range(2))

    assert first == second
    assert len(first.followings) == 1


@pytest.mark.parametrize("score", [80, 90])
def test_what_is_not_stored_is_no_lesson(recall: Recall, stage: SettleStage, score: float) -> None:
    for number in range(FEWEST_CANDIDATES):
        stage.run(f"journey-{number}", graded(recall, f"A lamp {number}", f"Yes {number}", journey=f"journey-{number}"))

    again = graded(recall, "A lamp 0", "Yes 0", score=score, journey="journey-9")

    assert stage.run("journey-9", again).followings == ()


@pytest.mark.parametrize("score", [80, 95])
def test_what_is_not_to_be_remembered_leaves_no_trace_in_the_pool_and_is_noted_for_its_score(
    recall: Recall, stage: SettleStage, redis_client: redis.Redis, score: float
) -> None:
    shown = settled_id(stage, graded(recall, "A lamp", "There was a lamp", submitter="eve"))
    before = recall.store.page(Where(), 10).memories
    pair = graded(recall, "A red lamp", "A lamp was red", journey="journey-2", score=score, shown=[shown])

    outcome = stage.run("journey-2", pair.model_copy(update={"task": pair.task.model_copy(update={"remember": False})}))

    assert isinstance(outcome.record, Settlement)
    assert (outcome.record.outcome, outcome.record.memory_id, outcome.followings) == ("not kept", None, ())
    assert outcome.record.reason.startswith("the task was submitted with remember=false")
    assert recall.store.page(Where(), 10).memories == before
    assert Arms(redis_client).of("poem", [shown])[0].credits == 0
    assert unremembered(redis_client) == {"journey-2"}


def settled_id(stage: SettleStage, pair: GradedTask) -> UUID:
    record = stage.run(pair.task.journey, pair).record
    assert isinstance(record, Settlement)
    assert record.memory_id is not None
    return record.memory_id


def as_seed(pair: GradedTask) -> GradedTask:
    return as_pair(SeedPair, pair, model=None)


def test_a_seed_is_trusted_and_of_no_task_and_counts_in_the_mean(
    recall: Recall, settle: Run, redis_client: redis.Redis
) -> None:
    settle(graded(recall, "A lamp of ours", "Ours", score=99, journey="task"))
    assert seeds_mean(redis_client, "poem") is None

    for number, score in enumerate((90, 84, 80)):
        settle(as_seed(graded(recall, f"A lamp {number}", f"Verse {number}", score=score, journey=f"journey-{number}")))

    assert seeds_mean(redis_client, "poem") == 87
    seeds = [memory for memory in memories(recall) if memory.task_id is None]
    assert [(memory.status, memory.model, memory.submitter) for memory in seeds] == [("active", None, "ada")] * 2


def test_a_seed_that_is_there_is_a_duplicate_and_the_mean_stays(
    recall: Recall, settle: Run, redis_client: redis.Redis
) -> None:
    first = settle(as_seed(graded(recall, "A lamp", "There was a lamp", score=90)))
    redis_client.delete("memshare:seeds")  # as when the worker was killed before it could write the mean

    again = settle(as_seed(graded(recall, "A lamp", "There was a lamp", score=90, journey="journey-2")))

    assert (first.outcome, again.outcome) == ("stored", "duplicate")
    assert first.memory_id == again.memory_id
    assert len(memories(recall)) == 1
    assert seeds_mean(redis_client, "poem") == 90


def test_a_seed_keeps_its_place_and_counts_whatever_better_score_its_submitter_gets_for_the_same(
    recall: Recall, settle: Run, redis_client: redis.Redis
) -> None:
    seed = settle(as_seed(graded(recall, "A lamp", "There was a lamp", score=90)))

    again = settle(graded(recall, "A lamp", "there was a LAMP", score=95, journey="journey-3"))

    assert (again.outcome, again.memory_id) == ("duplicate", seed.memory_id)
    assert seeds_mean(redis_client, "poem") == 90


def test_the_lesson_of_a_seed_belongs_to_its_journey(recall: Recall, stage: SettleStage) -> None:
    for number in range(FEWEST_CANDIDATES):
        stage.run(f"journey-{number}", graded(recall, f"A lamp {number}", f"Yes {number}", journey=f"journey-{number}"))

    following = stage.run(
        "journey-9", as_seed(graded(recall, "A lamp of tin", "It is", journey="journey-9"))
    ).followings[0]

    assert isinstance(following.body, LessonTask)
    assert following.body.journey == "journey-9"


def test_a_pair_that_comes_without_its_vector_is_found_by_its_prompt(recall: Recall, settle: Run) -> None:
    pair = graded(recall, "A lamp", "There was a lamp")

    settle(pair.model_copy(update={"task": pair.task.model_copy(update={"embedding": None})}))

    (hit,) = recall.nearest("poem", "A lamp", recall.embed("A lamp").unpack(), 3, "dense").hits
    assert hit.similarity == pytest.approx(1)


def test_a_good_answer_that_is_too_long_to_be_shown_is_not_kept(
    pool: Pool, redis_client: redis.Redis, recall: Recall
) -> None:
    settle = SettleStage(pool, redis_client, Lessons(redis_client, 1), text_limit=20)

    outcome = settle.run("journey-1", graded(recall, "A lamp", "x" * 21))

    assert isinstance(outcome.record, Settlement)
    assert (outcome.record.outcome, outcome.record.memory_id) == ("not kept", None)
    assert "21 characters" in (outcome.record.reason or "")
    assert recall.store.count(Where()) == {}
