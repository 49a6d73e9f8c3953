"""Pairs of an experiment become memories as answers do: on real workers, with lessons, credit and no further grade."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from memshare.demo.student_server import comparisons, labels
from memshare.evaluation.data import DataItem
from memshare.evaluation.queues import AnsweredItem, Queues, Settled, message_of
from memshare_broker.connection import connect
from memshare_broker.settings import Settings
from memshare_broker.wire.grades import Score
from memshare_broker.wire.messages import Shown, Usage
from memshare_memory.stores.store import Where
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.deployment import deployed, empty
from tests.support.grades import AGREES

POOL, OTHER = "made-for-it", "made-for-it-too"
SUBJECTS = ("lamp", "river", "candle", "clock", "needle", "map", "bell", "road", "boat", "tree", "coat")


def half_help(body: dict[str, Any]) -> Answer:
    """Every other example helps; nothing contradicts anything."""
    asked = json.loads(body["messages"][-1]["content"])
    if "pairs" in asked:
        return Answer(json.dumps(comparisons(asked, AGREES)))
    assert "criteria" not in asked, "the grade is known"
    places = itertools.count()
    return Answer(json.dumps(labels(asked, lambda _prompt, _example: 100 * (next(places) % 2), AGREES)))


def settled(pool: str, number: int, total: float = 90.0, shown: tuple[UUID, ...] = ()) -> Settled:
    subject = SUBJECTS[number]
    item = DataItem(
        id=subject, agent="poem", kind="limerick", prompt=f"A limerick about a {subject}", answer="There was"
    )
    score = Score(
        total=total, threshold=80, accepted=total >= 80, criteria={}, rubric="poem", rubric_version="1", model="m",
        usage=Usage(),
    )  # fmt: skip
    seen = tuple(Shown(id=one, similarity=0.5) for one in shown)
    return Settled(pool, "poem", "poem", AnsweredItem(item, f"There was a {subject} in Ware.", total, "m", score, seen))


def test_the_message_that_settles_a_pair_is_the_same_each_time_and_another_for_another_step() -> None:
    one, again = message_of("step", settled(POOL, 0)), message_of("step", settled(POOL, 0))

    assert one == again
    assert one.journey != one.id, "it has to be signed"
    assert message_of("other step", settled(POOL, 0)).id != one.id


@pytest.mark.timeout(200)
def test_pairs_are_remembered_and_learnt_from_once(redis_folder: Path, tmp_path: Path) -> None:
    settings = Settings(data=redis_folder, model="openai:scripted")
    empty(redis_folder)
    with connect(settings.redis) as own:
        workers = [("poem", "scorer", "memory", "trainer")]
        with (
            serving(half_help) as chat,
            deployed(settings, chat, tmp_path, workers) as deployment,
        ):
            queues = Queues(deployment.client, own, lambda _: None, lambda: None)
            some = [settled(pool, number) for pool in (POOL, OTHER) for number in range(3)]

            # 1. What is accepted becomes a memory of its pool, and from the third on each is a lesson.
            queues.settle("seeds", some)

            stats = deployment.client.memories.stats()
            assert {pool: stats.by_pool[pool] for pool in (POOL, OTHER)} == {POOL: 3, OTHER: 3}
            lessons = [body for body in chat.requests if "tasks" in body["messages"][-1]["content"]]
            assert len(lessons) == 2

            # 2. An answer that is not accepted changes no memory, and a pair that it was shown is counted alone.
            lamp = some[0].pair.id(POOL)
            bad = [settled(POOL, 9, 20.0, (lamp,)), settled(POOL, 10, 10.0, (lamp,))]
            before = deployment.client.memories.page(Where(pool=POOL)).memories
            queues.settle("answers", bad)

            assert deployment.client.memories.page(Where(pool=POOL)).memories == before
            credited = deployment.client.memories.judge([lamp])[0].credibility
            assert (credited.credits, credited.p) == (2, 1.0)

            # 3. Run again, nothing happens.
            asked = len(chat.requests)
            queues.settle("seeds", some)
            queues.settle("answers", bad)
            assert len(chat.requests) == asked
            assert deployment.client.memories.judge([lamp])[0].credibility == credited
