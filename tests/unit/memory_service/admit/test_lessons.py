from __future__ import annotations

from uuid import UUID

import pytest
import redis

from memshare_broker.app import MOST_LESSONS, TRAINER_QUEUE
from memshare_broker.delivery.hops import NextMessage
from memshare_broker.delivery.schema import open_key
from memshare_broker.wire.lessons import LessonTask
from memshare_memory.admit.after import (
    ALL_UNTIL,
    FEWEST_CANDIDATES,
    LEAST_SHARE,
    Lessons,
    made_otherwise,
    worth_learning,
)
from memshare_memory.admit.settle import SettleStage
from memshare_memory.belief.trust import retriever_key
from memshare_memory.curate.curate import Curate
from memshare_memory.curate.requests import NewMemory
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import Recall
from tests.support.graded import graded


def lessons_of(stage: SettleStage, recall: Recall, numbers: range) -> list[LessonTask]:
    """What the trainer is told of these tasks."""
    pairs = [graded(recall, f"A lamp {one}", f"Verse {one}", journey=f"journey-{one}") for one in numbers]
    followings = [one for pair in pairs for one in stage.run(pair.task.journey, pair).followings]
    return [one.body for one in followings if isinstance(one.body, LessonTask)]


def test_a_lesson_says_whose_task_it_came_from(recall: Recall, pool: Pool, redis_client: redis.Redis) -> None:
    [lesson] = lessons_of(
        SettleStage(pool, redis_client, Lessons(redis_client, 1)), recall, range(FEWEST_CANDIDATES + 1)
    )

    assert (lesson.agent, lesson.submitter, lesson.journey) == ("poem", "ada", f"journey-{FEWEST_CANDIDATES}")


def test_all_memories_become_lessons_until_the_retriever_has_had_many(
    recall: Recall, pool: Pool, redis_client: redis.Redis
) -> None:
    stage = SettleStage(pool, redis_client, Lessons(redis_client, 0.25))
    assert len(lessons_of(stage, recall, range(12))) == 12 - FEWEST_CANDIDATES

    redis_client.hset(retriever_key("poem", recall.encoder_name, "state"), "counted", 10 * ALL_UNTIL)

    thinned: list[UUID | None] = [one.memory_id for one in lessons_of(stage, recall, range(12, 112))]
    assert 0 < len(thinned) < 20
    assert all(one is not None and one.int % 10_000 < LEAST_SHARE * 10_000 for one in thinned)


def test_ever_fewer_memories_become_lessons_of_a_retriever_that_has_had_many() -> None:
    usual = [worth_learning(lessons, 0.3) for lessons in (0, 199, 200, 400, 800, 100_000)]

    assert usual == pytest.approx([1, 1, 0.3, 0.15, 0.075, LEAST_SHARE])
    assert worth_learning(100_000, 0.01) == 0.01, "no more than what was asked for"
    assert worth_learning(200, 0) == 0


def test_ever_fewer_memories_become_lessons_where_labels_teach_nothing(
    recall: Recall, pool: Pool, redis_client: redis.Redis
) -> None:
    assert [worth_learning(0, 1, in_vain) for in_vain in (0, 5, 10, 20, 1_000)] == [1, 1, 0.5, 0.25, LEAST_SHARE]
    stage = SettleStage(pool, redis_client, Lessons(redis_client, 1))
    lessons_of(stage, recall, range(FEWEST_CANDIDATES))

    redis_client.set(retriever_key("poem", recall.encoder_name, "in_vain"), 50)

    assert 0 < len(lessons_of(stage, recall, range(10, 110))) < 30


def test_no_memory_becomes_a_lesson_for_a_model_to_label_while_too_many_wait(
    recall: Recall, pool: Pool, redis_client: redis.Redis
) -> None:
    stage = SettleStage(pool, redis_client, Lessons(redis_client, 1))
    lessons_of(stage, recall, range(FEWEST_CANDIDATES))
    redis_client.zadd(open_key(TRAINER_QUEUE), {str(number): 1.0 for number in range(MOST_LESSONS)})
    assert lessons_of(stage, recall, range(10, 15)) == []

    redis_client.zrem(open_key(TRAINER_QUEUE), "0")

    assert len(lessons_of(stage, recall, range(20, 25))) == 5


def test_where_nobody_is_to_learn_no_memory_becomes_a_lesson(
    recall: Recall, pool: Pool, redis_client: redis.Redis
) -> None:
    stage = SettleStage(pool, redis_client, Lessons(redis_client, 1, learn=False))

    assert lessons_of(stage, recall, range(12)) == []


ABBOTT = "SELECT title FROM books WHERE author = 'Ursula Abbott' ORDER BY title"
TACHIYAMA = "select title from books where author = 'Kenji Tachiyama' order by title"
LENT = "SELECT COUNT(*) FROM loans WHERE due > 30"


def test_answers_that_differ_in_names_quotes_and_numbers_alone_are_made_alike() -> None:
    assert made_otherwise(ABBOTT, [TACHIYAMA, LENT]) == (0, 1)
    assert made_otherwise(LENT, [LENT.replace("30", "7"), LENT.replace("COUNT", "AVG"), ABBOTT])[0] == 0
    assert made_otherwise(ABBOTT, [TACHIYAMA, TACHIYAMA.replace("title from", "id from")]) == (0, 1)


def test_a_frame_that_answers_share_does_not_make_them_alike() -> None:
    frame = "Hi there, thanks for reaching out. Go to page {} and choose option {}. Have a great day, your team."
    said = [frame.format("warranty", 4), frame.format("newsletter", 4), frame.format("warranty", 7)]

    assert made_otherwise(frame.format("warranty", 1), said) == (0, 1, 0)


def test_answers_of_a_few_words_and_answers_that_all_differ_tell_nothing() -> None:
    assert made_otherwise("Yes.", ["Yes.", "No."]) == ()
    assert made_otherwise("42", ["7", LENT]) == ()
    assert made_otherwise(ABBOTT, [LENT]) == ()
    assert made_otherwise(ABBOTT, [TACHIYAMA]) == ()
    assert made_otherwise("The owl sat up all night and sang", ["A boat went down in rain", LENT]) == ()


def test_how_answers_are_made_labels_a_lesson_even_where_a_model_would_not_be_asked(
    recall: Recall, pool: Pool, redis_client: redis.Redis
) -> None:
    stage = SettleStage(pool, redis_client, Lessons(redis_client, 1))
    redis_client.set(retriever_key("sql", recall.encoder_name, "in_vain"), 1_000_000)
    said = {"Books by Abbott?": ABBOTT, "How many are late?": LENT, "What did Tachiyama write?": TACHIYAMA}
    pairs = [graded(recall, prompt, answer, journey=prompt, pool="sql") for prompt, answer in said.items()]

    followings = [one.body for pair in pairs for one in stage.run(pair.task.journey, pair).followings]

    [lesson] = [one for one in followings if isinstance(one, LessonTask)]
    assert {one.answer: label for one, label in zip(lesson.candidates, lesson.labels, strict=True)} == {
        ABBOTT: 0,
        LENT: 1,
    }


def test_what_people_bring_in_is_a_lesson_where_the_ways_answers_are_made_label_it(
    recall: Recall, pool: Pool, redis_client: redis.Redis
) -> None:
    sent: list[NextMessage] = []
    curate = Curate(pool, redis_client, sent.extend, Lessons(redis_client, 1))

    verses = ("An owl sat up all night", "Old boats go down in rain", "The moon is out again", "Grandmother sang to me")
    curate.add([NewMemory(pool="poem", prompt=f"Verse {at}", answer=verse) for at, verse in enumerate(verses)])
    assert not [one for one in sent if isinstance(one.body, LessonTask)], "no model is asked about what is brought in"

    said = {"Books by Abbott?": ABBOTT, "How many are late?": LENT, "What did Tachiyama write?": TACHIYAMA}
    curate.add([NewMemory(pool="sql", prompt=prompt, answer=answer) for prompt, answer in said.items()])

    lessons = {one.body.prompt: one for one in sent if isinstance(one.body, LessonTask)}
    assert set(lessons) == {"Books by Abbott?", "What did Tachiyama write?"}
    assert len({one.journey for one in lessons.values()}) == 2

    redis_client.hset(retriever_key("sql", recall.encoder_name, "state"), "counted", 100 * ALL_UNTIL)
    sent.clear()
    more = [(f"Books by author {one}?", ABBOTT.replace("Abbott", f"Name{one}")) for one in range(100)]
    curate.add([NewMemory(pool="sql", prompt=prompt, answer=answer) for prompt, answer in more])
    assert len([one for one in sent if isinstance(one.body, LessonTask)]) < 20, "ever fewer of a pool that had many"
