from __future__ import annotations

import pytest
import redis

from memshare_broker.presence import AgentCard, Presence, announce
from memshare_broker.wire.grades import Settlement
from memshare_broker.wire.lessons import CompareTask, LessonTask
from memshare_memory.admit.after import Lessons
from memshare_memory.admit.settle import SettleStage
from memshare_memory.belief.trust import Trust, decide
from memshare_memory.contradictions import Conflicts, rivals_of
from memshare_memory.memory import KNOWLEDGE
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import Recall
from tests.support.graded import graded
from tests.support.memories import remembered

NEAR, FAR = "the red lamp on the table", "a green boat in a storm"


@pytest.fixture
def settle(pool: Pool, redis_client: redis.Redis) -> SettleStage:
    return SettleStage(pool, redis_client, Lessons(redis_client, 0, learn=False))


def compared(settle: SettleStage, recall: Recall, prompt: str, answer: str, journey: str) -> list[str]:
    """With which answers the memory of a journey is to be compared."""
    followings = settle.run(journey, graded(recall, prompt, answer, journey=journey)).followings
    tasks = [one.body for one in followings if isinstance(one.body, CompareTask)]
    return [other.answer for task in tasks for other in task.others]


def test_a_new_memory_is_compared_with_those_that_answer_the_same_question(settle: SettleStage, recall: Recall) -> None:
    assert compared(settle, recall, NEAR, "It is red.", "1") == []
    assert compared(settle, recall, FAR, "It is green.", "2") == []

    assert compared(settle, recall, f"{NEAR} now", "It is blue.", "3") == ["It is red."]
    assert compared(settle, recall, NEAR, "it is  BLUE.", "4") == ["It is red."], "what says the same denies nothing"


def test_what_is_withheld_until_it_was_compared_says_so(
    settle: SettleStage, recall: Recall, redis_client: redis.Redis
) -> None:
    compared(settle, recall, NEAR, "It is red.", "1")

    def reason(journey: str, answer: str) -> str:
        record = settle.run(journey, graded(recall, NEAR, answer, journey=journey)).record
        assert isinstance(record, Settlement)
        return record.reason

    assert "it is shown once it was compared" in reason("2", "It is blue.")
    decide(redis_client, "poem", graded(recall, NEAR, "").task.submitter, Trust(said="trust", by="ada", at=1))
    assert reason("3", "It is green.") == "it is good enough"


def test_what_is_made_up_is_compared_with_nothing(
    settle: SettleStage, recall: Recall, redis_client: redis.Redis
) -> None:
    card = AgentCard(name="poem", kinds=("limerick",), pool="poem", model="m", invented=("limerick",))
    compared(settle, recall, NEAR, "It is red.", "1")

    announce(redis_client, Presence(node="one", pid=1, incarnation="a", queues=("poem",), agents=(card,)))

    assert compared(settle, recall, NEAR, "It is blue.", "2") == []
    announce(
        redis_client,
        Presence(
            node="one", pid=1, incarnation="a", queues=("poem",), agents=(card.model_copy(update={"invented": ()}),)
        ),
    )
    assert set(compared(settle, recall, NEAR, "It is green.", "3")) == {"It is red.", "It is blue."}


def test_what_is_in_a_lesson_is_compared_with_the_lesson_by_one_question(
    pool: Pool, recall: Recall, redis_client: redis.Redis
) -> None:
    stage = SettleStage(pool, redis_client, Lessons(redis_client, 1))
    for number, prompt in enumerate((NEAR, FAR, FAR + " at sea")):
        compared(stage, recall, prompt, f"It is {number}.", f"{number}")

    [one] = stage.run("3", graded(recall, f"{NEAR} now", "It is blue.", journey="3")).followings

    assert isinstance(one.body, LessonTask)
    assert [c.answer for c in one.body.candidates if c.id in one.body.rivals] == ["It is 0."]


def test_every_two_memories_are_compared_once(settle: SettleStage, recall: Recall, redis_client: redis.Redis) -> None:
    compared(settle, recall, NEAR, "It is red.", "1")
    task = graded(recall, NEAR, "It is blue.", journey="2")
    [following] = settle.run("2", task).followings
    assert isinstance(following.body, CompareTask)
    Conflicts(redis_client).judge("poem", following.body.memory.id, following.body.others[0].id, "agree")

    assert settle.run("2", task).followings == ()


def test_statements_about_the_same_thing_are_compared_though_their_words_differ_more(
    recall: Recall, redis_client: redis.Redis
) -> None:
    for kind in (KNOWLEDGE, "limerick"):
        prompt = "the red lamp on the old table"
        memory, _ = remembered(prompt, answer=f"By {kind}.", kind=kind, pool=kind, task_id="1")
        other, _ = remembered("the red lamp is on the floor", answer="Another.", kind=kind, pool=kind, task_id="2")
        recall.store.put(list(zip([memory, other], recall.vectors([memory, other]), strict=True)))

    found = {}
    for kind in (KNOWLEDGE, "limerick"):
        new, _ = remembered("the red lamp on the old floor", answer="New.", kind=kind, pool=kind, task_id="3")
        found[kind] = rivals_of(recall.store, redis_client, new, recall.vectors([new])[0].dense)
    assert (len(found[KNOWLEDGE]), len(found["limerick"])) == (2, 0)


@pytest.mark.parametrize(("before", "task_id", "compared"), [(None, "2", 1), ("1", None, 1), ("1", "2", 0)])
def test_what_a_person_brought_in_is_compared_with_an_answer_to_a_question_that_is_less_alike(
    recall: Recall, redis_client: redis.Redis, before: str | None, task_id: str | None, compared: int
) -> None:
    known, _ = remembered("the red lamp on the old floor", answer="One.", task_id=before)
    recall.store.put([(known, recall.vectors([known])[0])])
    new, _ = remembered("the red lamp on the new floor", answer="New.", task_id=task_id)

    assert len(rivals_of(recall.store, redis_client, new, recall.vectors([new])[0].dense)) == compared


@pytest.mark.parametrize(("answer", "is_first"), [("one!", True), ("Three.", False)])
def test_what_lost_is_compared_in_other_words_with_what_a_person_found_right_before_what_is_nearer(
    recall: Recall, redis_client: redis.Redis, answer: str, *, is_first: bool
) -> None:
    asked, question = "the red lamp on the new floor", "the red lamp on the old floor"
    given = (("One.", question), ("Two.", question), *((f"Day {at}.", f"{asked} {at}") for at in range(4)))
    wrong, right, *nearer = (remembered(prompt, answer=said, task_id=said)[0] for said, prompt in given)
    memories = [wrong, right, *nearer]
    recall.store.put(list(zip(memories, recall.vectors(memories), strict=True)))
    Conflicts(redis_client).judge("poem", right.id, wrong.id, "right")
    new, _ = remembered(asked, answer=answer, task_id="3")

    found = rivals_of(recall.store, redis_client, new, recall.vectors([new])[0].dense)

    assert [one == right for one in found] == [is_first, False, False, False]


@pytest.mark.parametrize("is_fact_first", [True, False])
@pytest.mark.parametrize(
    ("question", "compared"), [("when is it that the pass closes", 1), ("how high is the pass", 0)]
)
def test_a_fact_is_compared_with_the_answer_to_its_question(
    recall: Recall, redis_client: redis.Redis, question: str, compared: int, is_fact_first: bool
) -> None:
    fact, _ = remembered(None, answer="the pass closes: it is in October")
    stored, _ = remembered(question, answer="In September.", task_id="1")
    first, second = (fact, stored) if is_fact_first else (stored, fact)
    recall.store.put([(first, recall.vectors([first])[0])])

    assert len(rivals_of(recall.store, redis_client, second, recall.vectors([second])[0].dense)) == compared


def test_an_answer_is_not_compared_with_a_passage_of_a_document(recall: Recall, redis_client: redis.Redis) -> None:
    document, _ = remembered(None, answer=NEAR, source="tour.pdf")
    passage, _ = remembered(None, answer=f"{NEAR} is red", parents=(document.id,))
    assert passage.is_passage
    recall.store.put(list(zip([document, passage], recall.vectors([document, passage]), strict=True)))
    new, _ = remembered(NEAR, answer="It is blue.", task_id="1")

    assert rivals_of(recall.store, redis_client, new, recall.vectors([new])[0].dense) == [document]
