from __future__ import annotations

import numpy as np
import pytest
import redis

from memshare_broker.wire.lessons import Evidence, LessonTask
from memshare_memory.recall.retriever import Retriever
from memshare_trainer import step as unlearning
from memshare_trainer.learn import LearnStage
from memshare_trainer.lesson_log import LessonLog, lessons_with
from memshare_trainer.step import unlearn
from tests.support.lessons import ENCODER, FormLabeller, accepted, lesson, let_wait, notice, word
from tests.support.memories import remembered
from tests.support.word_encoder import WordEncoder

CLEAN = 60


@pytest.fixture
def learn(redis_client: redis.Redis) -> LearnStage:
    return LearnStage(redis_client, FormLabeller(), kept=200, keep_days=1)  # type: ignore[arg-type]


@pytest.fixture
def log(redis_client: redis.Redis) -> LessonLog:
    return LessonLog(redis_client, "poem", ENCODER, kept=200, keep_days=1)


def teach(learn: LearnStage, *tasks: LessonTask) -> None:
    for task in tasks:
        learn.run(task.journey, task)


def weights(log: LessonLog) -> np.ndarray:
    published = log.published(log.head().version)
    assert published is not None
    return published.unpack()


def said(by: str) -> list[Evidence]:
    """What somebody says of memories of others: that those mislead which help."""
    return [word(by, number, of="ada", helped=0.0, at=number) for number in range(30)]


def test_a_retriever_is_as_if_it_had_never_been_taught_by_what_is_forgotten(learn: LearnStage, log: LessonLog) -> None:
    teach(learn, *(lesson(number) for number in range(CLEAN)))
    unlearn(log, [])
    clean, version = weights(log), log.head().version
    poisoned = [lesson(number) for number in range(1_000, 1_030)]
    teach(learn, *poisoned)
    assert not np.array_equal(weights(log), clean), "it had learnt from them"

    done = unlearn(log, [task.memory_id for task in poisoned])

    assert np.array_equal(weights(log), clean)
    assert (done.lessons, done.version) == (30, log.head().version)
    assert done.version > done.before > version
    assert log.versions() == [done.version], "no version is left that had learnt from them"
    assert log.published(done.before) is None


def test_what_a_submitter_answered_and_said_is_taken_back(
    learn: LearnStage, log: LessonLog, redis_client: redis.Redis
) -> None:
    teach(learn, *(lesson(number, by="bob", whose=("ada", "bob")) for number in range(CLEAN)))
    unlearn(log, [])
    clean, standing = log.published(log.head().version), log.standings()
    let_wait(redis_client, *said("mallory"))
    teach(learn, *(lesson(number, by="mallory", whose=("ada", "bob")) for number in range(1_000, 1_030)))
    assert log.standings().submitters["ada"].words > standing.submitters["ada"].words
    let_wait(redis_client, word("mallory", 40, of="ada"))

    done = unlearn(log, [], "mallory")

    after = log.published(log.head().version)
    assert clean is not None
    assert after is not None
    assert (done.lessons, done.evidence) == (30, 31)
    assert np.array_equal(after.unpack(), clean.unpack())
    assert (after.worth, log.standings()) == (clean.worth, standing)
    assert (log.said(), lessons_with(log, [], "mallory")) == ([], [])


def test_recall_learns_at_once_who_is_proven_by_a_lesson_and_who_is_not_any_more(
    learn: LearnStage, log: LessonLog, redis_client: redis.Redis
) -> None:
    encoder = WordEncoder(ENCODER)
    retriever, own = Retriever(redis_client, encoder), remembered("A lamp", submitter="ada", task_id="task")[0]

    def is_proven() -> bool:
        adapter = retriever.adapter("poem")
        return "ada" in (adapter.proven_submitters or {}) and not adapter.proven(own, np.ones(1, np.float32), {})

    assert not is_proven()

    let_wait(redis_client, *(accepted(by, number, of="ada") for by in ("bob", "cleo") for number in range(20)))
    teach(learn, lesson(0))
    assert log.head().version == 0
    assert is_proven(), "near what was found good, and not near nothing"

    unlearn(log, [], "bob")
    assert not is_proven()


def test_a_pool_of_words_alone_keeps_who_is_proven_by_those_that_are_left(
    learn: LearnStage, log: LessonLog, redis_client: redis.Redis
) -> None:
    good = [accepted(by, number, of="ada") for by in ("bob", "cleo") for number in range(10)]
    let_wait(redis_client, *good, *said("mallory"))
    learn.run("first", notice("first"))

    unlearn(log, [], "mallory")

    assert log.head().version == 0
    assert len(log.said()) == 20
    assert log.standings().proven.keys() == {"ada"}


def test_what_is_said_while_a_retriever_unlearns_waits_unless_it_is_to_be_forgotten_too(
    learn: LearnStage, log: LessonLog, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_wait(redis_client, *(word("bob", number, of="ada") for number in range(3)), *said("mallory"))
    learn.run("first", notice("first"))
    let_wait(redis_client, word("bob", 3, of="ada"))
    relearn = unlearning.relearn

    def meanwhile(*given: object) -> object:
        let_wait(redis_client, word("cleo", 3, of="ada"), word("mallory", 3, of="ada"))
        return relearn(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(unlearning, "relearn", meanwhile)

    done = unlearn(log, [], "mallory")

    assert done.evidence == 31
    assert {one.by for one in log.waiting().values()} == {"bob", "cleo"}
    assert len(log.said()) == 5
    learn.run("later", notice("later"))
    assert (len(log.evidence()), log.waiting()) == (5, {})


def test_a_lesson_that_had_a_forgotten_memory_as_a_candidate_goes_too(learn: LearnStage, log: LessonLog) -> None:
    teach(learn, *(lesson(number) for number in range(CLEAN)))
    candidate = lesson(7).candidates[3].id

    assert lessons_with(log, [candidate]) == [8]
    assert unlearn(log, [candidate]).lessons == 1
    assert lessons_with(log, [candidate]) == []
    assert len([*log.lessons(), *log.held_out()]) == CLEAN - 1


def test_learning_goes_on_after_it(learn: LearnStage, log: LessonLog, redis_client: redis.Redis) -> None:
    teach(learn, *(lesson(number) for number in range(CLEAN)))
    done = unlearn(log, [lesson(CLEAN - 1).memory_id])

    teach(learn, *(lesson(number) for number in range(CLEAN, 2 * CLEAN)))

    assert log.head().version > done.version
    assert log.head().counted == 2 * CLEAN
    elsewhere = LearnStage(redis_client, FormLabeller(), kept=200, keep_days=1)  # type: ignore[arg-type]
    teach(elsewhere, lesson(2 * CLEAN))
    assert log.head().counted == 2 * CLEAN + 1


def test_when_all_is_forgotten_the_retriever_is_untrained(learn: LearnStage, log: LessonLog) -> None:
    tasks = [lesson(number) for number in range(40)]
    teach(learn, *tasks)
    assert log.head().version > 0

    unlearn(log, [task.memory_id for task in tasks])

    assert (log.head().version, log.versions()) == (0, [])
