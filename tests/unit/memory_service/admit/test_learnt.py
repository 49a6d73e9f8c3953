"""What an agent's sources taught becomes knowledge of the pool."""

from __future__ import annotations

from uuid import UUID

import pytest
import redis

from memshare_broker.delivery.stage import Outcome
from memshare_broker.wire.grades import GradedTask, Settlement
from memshare_broker.wire.lessons import CompareTask
from memshare_broker.wire.messages import Learnt
from memshare_memory.admit.after import Lessons
from memshare_memory.admit.settle import SettleStage
from memshare_memory.memory import KNOWLEDGE, Memory
from memshare_memory.people import WrongAnswer, note_wrong
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import Recall
from memshare_memory.stores.store import Where
from tests.support.graded import graded

PARENT = UUID(int=5)
BORN = Learnt(statement="Ada Korn was born in Ulm", source="https://example.org/korn", read=1.8e9, parents=(PARENT,))


@pytest.fixture
def settle(pool: Pool, redis_client: redis.Redis) -> SettleStage:
    return SettleStage(pool, redis_client, Lessons(redis_client, 0, learn=False))


def taught(
    recall: Recall, *learnt: Learnt, score: float = 90, journey: str = "one", remember: bool = True
) -> GradedTask:
    pair = graded(recall, f"question {journey}", f"answer {journey}", score=score, journey=journey)
    return pair.model_copy(update={"task": pair.task.model_copy(update={"learnt": learnt, "remember": remember})})


def settlement(outcome: Outcome) -> Settlement:
    assert isinstance(outcome.record, Settlement)
    return outcome.record


def knowledge(recall: Recall) -> list[Memory]:
    return recall.store.page(Where(kind=KNOWLEDGE), 100).memories


def test_a_statement_is_kept_with_its_source_time_and_parents_and_found_by_recall(
    recall: Recall, settle: SettleStage
) -> None:
    done = settlement(settle.run("one", taught(recall, BORN)))

    [memory] = knowledge(recall)
    assert (memory.answer, memory.prompt, memory.source) == (BORN.statement, None, BORN.source)
    assert (memory.created, memory.parents, memory.status) == (BORN.read, (PARENT,), "active")
    assert (memory.task_id, memory.submitter, memory.score) == ("one", "ada", None)
    assert done.learnt == (memory.id,)
    [answer] = recall.store.page(Where(ids=[done.memory_id]), 1).memories if done.memory_id else []
    assert memory.id in answer.parents, "what changes the statement reaches the answer"
    vector = recall.embed("born in Ulm").unpack()
    assert recall.nearest("poem", "born in Ulm", vector, 1).hits[0].memory == memory


def test_a_statement_is_kept_though_the_answer_is_graded_poor(recall: Recall, settle: SettleStage) -> None:
    done = settlement(settle.run("one", taught(recall, BORN, score=10)))

    assert done.outcome == "rejected"
    assert done.learnt == tuple(memory.id for memory in knowledge(recall)) != ()


def test_the_same_source_saying_the_same_again_is_the_memory_that_there_is(recall: Recall, settle: SettleStage) -> None:
    settle.run("one", taught(recall, BORN))
    first = knowledge(recall)
    in_other_words = BORN.model_copy(update={"statement": "ADA KORN was born in Ulm.", "read": 1.9e9})
    other_source = BORN.model_copy(update={"statement": "Ada Korn was born in Ulm!", "source": "korn.pdf"})

    again = settlement(settle.run("two", taught(recall, BORN, in_other_words, journey="two")))
    assert knowledge(recall) == first
    assert set(again.learnt) == {first[0].id}

    settle.run("three", taught(recall, other_source, journey="three"))
    assert {memory.source for memory in knowledge(recall)} == {BORN.source, "korn.pdf"}


def test_a_statement_that_was_called_wrong_is_not_learnt_again(
    recall: Recall, settle: SettleStage, redis_client: redis.Redis
) -> None:
    about = {"memory": UUID(int=1), "pool": "poem", "prompt": BORN.statement, "submitter": "eve", "by": "cleo"}
    note_wrong(redis_client, f"{BORN.statement}.", WrongAnswer(curated=True, **about))

    done = settlement(settle.run("one", taught(recall, BORN)))

    assert (done.learnt, knowledge(recall)) == ((), [])


def test_a_statement_is_compared_with_what_it_may_contradict_in_a_journey_of_its_own(
    recall: Recall, settle: SettleStage
) -> None:
    settle.run("one", taught(recall, BORN))
    rival = BORN.model_copy(update={"statement": "Ada Korn was born in Rome", "source": "rome.html"})

    sent = settle.run("two", taught(recall, rival, journey="two")).followings

    [own] = [one for one in sent if one.journey is not None]
    assert isinstance(own.body, CompareTask)
    assert own.journey == own.body.journey != "two"
    assert (own.body.memory.answer, [one.answer for one in own.body.others]) == (rival.statement, [BORN.statement])


def test_what_is_not_to_be_remembered_teaches_nothing(recall: Recall, settle: SettleStage) -> None:
    settle.run("one", taught(recall, BORN, remember=False))

    assert knowledge(recall) == []


def test_a_statement_that_is_too_long_to_be_shown_is_left_out_and_logged(
    pool: Pool, redis_client: redis.Redis, recall: Recall, caplog: pytest.LogCaptureFixture
) -> None:
    settle = SettleStage(pool, redis_client, Lessons(redis_client, 0, learn=False), text_limit=50)
    long = BORN.model_copy(update={"statement": BORN.statement * 3})

    with caplog.at_level("WARNING"):
        done = settlement(settle.run("one", taught(recall, BORN, long)))

    assert done.learnt == tuple(memory.id for memory in knowledge(recall))
    assert [memory.answer for memory in knowledge(recall)] == [BORN.statement]
    assert "Left out 1 statements of over 50 characters." in caplog.text
