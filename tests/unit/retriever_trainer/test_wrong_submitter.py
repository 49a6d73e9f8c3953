"""Who brings in wrong answers is soon shown no more: real recall, settling, evidence and learner; nothing by chance."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from memshare_broker.wire.lessons import LessonTask
from memshare_broker.wire.messages import Usage
from memshare_memory.admit.after import Lessons
from memshare_memory.admit.settle import SettleStage
from memshare_memory.memory import Memory
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import Recall
from memshare_trainer.labels import Labels
from memshare_trainer.learn import LearnStage
from tests.support.graded import graded
from tests.support.memories import remembered

SUBMITTERS, WRONG = ("ada", "bob", "cleo", "mallory"), "mallory"
TOPICS, ASKED_ABOUT, TASKS, K = 50, 25, 50, 3


class Truthful:
    """Says that what is of the same topic helps, but for what is wrong."""

    def label(self, task: LessonTask) -> Labels:
        topic = task.prompt.split()[0]
        helping = [one.submitter != WRONG and topic in (one.prompt or "").split() for one in task.candidates]
        return Labels(tuple(0.1 if helps else 0.9 for helps in helping), "json", Usage())


@pytest.fixture
def filled(recall: Recall) -> Recall:
    """A third of the pool is of who is wrong: of every topic they have one and others two, for three places.

    No word of a prompt says whose it is, so what is right and of another topic must come before it.
    """
    memories = [
        remembered(
            f"topic{topic} asked in other words {topic * 31 + number * 17}",
            answer=f"{who} says of topic{topic} number {topic * 7} and {number}",
            submitter=who,
            task_id=f"{topic} {who}",
            score=85.0,
        )[0]
        for topic in range(TOPICS)
        for number, who in enumerate(SUBMITTERS)
        if number != topic % 3
    ]
    recall.store.put([(one, vectors) for one, vectors in zip(memories, recall.vectors(memories), strict=True)])
    return recall


def shown(recall: Recall, question: str) -> list[Memory]:
    found = recall.nearest("poem", question, recall.embed(question).unpack(), K)
    return [hit.memory for hit in found.hits]


def share_of_places(recall: Recall) -> float:
    """Of who is wrong, in tasks on topics that nobody has asked about."""
    questions = (f"topic{number} unseen {number}" for number in range(ASKED_ABOUT, TOPICS))
    whose = [memory.submitter for question in questions for memory in shown(recall, question)]
    return whose.count(WRONG) / len(whose)


def tasks() -> Iterator[tuple[str, str, str]]:
    """The journey of each, the question, and who asks."""
    for number in range(TASKS):
        yield f"journey {number}", f"topic{number * 7 % ASKED_ABOUT} please {number}", ("dora", "erin")[number % 2]


def test_after_fifty_graded_tasks_one_place_in_twenty_at_most_is_of_who_is_wrong(
    filled: Recall, pool: Pool, redis_client: redis.Redis
) -> None:
    settle = SettleStage(pool, redis_client, Lessons(redis_client, 1))
    learn = LearnStage(redis_client, Truthful(), kept=200, keep_days=1)  # type: ignore[arg-type]
    before = share_of_places(filled)

    for journey, question, asker in tasks():
        examples = shown(filled, question)
        score = 20 if examples[0].submitter == WRONG else 90
        ids = [one.id for one in examples]
        pair = graded(filled, question, examples[0].answer, score=score, journey=journey, shown=ids, submitter=asker)
        for message in settle.run(journey, pair).followings:
            if isinstance(message.body, LessonTask):
                learn.run(message.entry(journey).id, message.body)

    assert before > 0.25
    assert share_of_places(filled) <= 0.05
