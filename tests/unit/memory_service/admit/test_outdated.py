"""What was written from something that changed meanwhile; the flow is in tests/flow/test_shown_memories.py."""

from __future__ import annotations

import time
from typing import Any

import pytest
import redis

from memshare_broker.wire.grades import Settlement
from memshare_broker.wire.lessons import LessonTask
from memshare_memory.admit.admission import outdated
from memshare_memory.admit.after import Lessons
from memshare_memory.admit.settle import SettleStage
from memshare_memory.door.messages import Found
from memshare_memory.memory import KNOWLEDGE, Memory, Revision
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import Recall
from memshare_memory.stores.store import Where
from tests.support.graded import graded
from tests.support.memories import remembered

MONDAYS, TUESDAYS = "It is closed on Mondays.", "It is closed on Tuesdays."


def stored(recall: Recall, prompt: str | None, answer: str, **fields: Any) -> Memory:
    memory, _ = remembered(prompt, answer=answer, **fields)
    recall.store.put([(memory, recall.vectors([memory])[0])])
    return memory


def why(recall: Recall, shown: Memory, *there: Memory) -> str | None:
    return outdated(recall.store, "poem", [Found(memory=shown, similarity=0.9).shown], there, ())[0] or None


def test_a_statement_that_says_something_else_and_one_that_is_stale_or_gone_make_an_answer_stale(
    recall: Recall,
) -> None:
    known = remembered("When is it open?", answer=MONDAYS, kind=KNOWLEDGE)[0]

    assert why(recall, known, known) is None
    assert why(recall, known, known.model_copy(update={"status": "hidden"})) is None
    assert "was changed" in (why(recall, known, known.model_copy(update={"answer": TUESDAYS})) or "")
    assert "has become stale" in (why(recall, known, known.model_copy(update={"status": "stale"})) or "")
    assert "was forgotten" in (why(recall, known) or "")
    wrong, causes = outdated(recall.store, "poem", [Found(memory=known, similarity=0.9).shown], [known], {known.id})
    assert "was found wrong" in wrong
    assert [(one.memory, one.became) for one in causes] == [(known.id, "found wrong")]


def test_an_example_that_a_person_rewrote_makes_nothing_stale_nor_does_one_whose_place_a_better_pair_took(
    recall: Recall,
) -> None:
    example = stored(recall, "A lamp", "It shines.")
    better = stored(recall, "A lamp!", "it  shines.", score=99)
    recall.store.delete([example.id])

    assert why(recall, example, example.model_copy(update={"answer": "It glows."})) is None
    assert why(recall, example) is None
    recall.store.delete([better.id])
    assert "was forgotten" in (why(recall, example) or "")


@pytest.mark.parametrize(("answer", "status"), [("Go up: Ulla has the keys.", "stale"), ("Nobody knows.", "active")])
def test_an_answer_under_way_that_follows_a_pair_which_was_corrected_meanwhile_is_stale(
    recall: Recall, pool: Pool, redis_client: redis.Redis, answer: str, status: str
) -> None:
    then = remembered("Who is it?", answer="Ulla has the keys.")[0]
    was = Revision(prompt=then.prompt, answer=then.answer, until=time.time())
    now = then.model_copy(update={"answer": "Jonas has them now.", "history": (was,)})
    recall.store.put([(now, recall.vectors([now])[0])])
    pair = graded(recall, "Who opens the fort?", answer)
    task = pair.task.model_copy(update={"shown": (Found(memory=then, similarity=0.9).shown,)})

    outcome = SettleStage(pool, redis_client, Lessons(redis_client, 1)).run(
        "journey-1", pair.model_copy(update={"task": task})
    )

    assert isinstance(outcome.record, Settlement)
    assert outcome.record.memory_id is not None
    [kept] = recall.store.page(Where(ids=[outcome.record.memory_id]), 1).memories
    assert (kept.status, [cause.became for cause in kept.because]) == (status, ["changed"] * (status == "stale"))


@pytest.mark.parametrize("there", ["active", "stale"])
def test_a_stale_answer_is_no_lesson_and_takes_the_place_of_a_stale_one_alone(
    recall: Recall, pool: Pool, redis_client: redis.Redis, there: str
) -> None:
    for number in range(3):
        stored(recall, f"A lamp {number}", f"It shines {number}.")
    same = stored(recall, "A clock", "It ticks.", score=50, status=there, task_id="another", submitter="ada")
    gone = remembered("When?", answer=MONDAYS, kind=KNOWLEDGE)[0]
    pair = graded(recall, "A clock", "It ticks.", score=95)
    task = pair.task.model_copy(update={"shown": (Found(memory=gone, similarity=0.9).shown,)})

    outcome = SettleStage(pool, redis_client, Lessons(redis_client, 1)).run(
        "journey-1", pair.model_copy(update={"task": task})
    )

    assert isinstance(outcome.record, Settlement)
    assert outcome.record.outcome == ("duplicate" if there == "active" else "stored")
    assert not [one for one in outcome.following if isinstance(one.body, LessonTask)]
    [kept] = [one for one in recall.store.page(Where(pool="poem"), 10).memories if one.answer == same.answer]
    assert kept.status == there


@pytest.mark.parametrize("kind", ["limerick", KNOWLEDGE])
def test_an_answer_is_not_written_from_a_pair_that_it_denies_where_it_was_shown_what_it_says(
    recall: Recall, pool: Pool, redis_client: redis.Redis, kind: str
) -> None:
    denied, said, fact = (
        stored(recall, f"A fee {at}", text, kind=of)
        for at, (text, of) in enumerate(
            (("The fee is 12 euros.", kind), ("The fee is 14 euros.", kind), ("Children are free.", KNOWLEDGE))
        )
    )
    pair = graded(recall, "What do I pay?", "The fee is 14 euros.", shown=[denied.id, said.id, fact.id])

    outcome = SettleStage(pool, redis_client, Lessons(redis_client, 1)).run("journey-1", pair)

    assert isinstance(outcome.record, Settlement)
    assert outcome.record.memory_id is not None
    [memory] = recall.store.page(Where(ids=[outcome.record.memory_id]), 1).memories
    assert memory.parents == (said.id,), "it has no word of the fact"
