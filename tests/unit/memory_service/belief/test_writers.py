from __future__ import annotations

import pytest
import redis

from memshare_broker.wire.messages import OutsidePair
from memshare_memory.admit.after import Lessons
from memshare_memory.admit.settle import SettleStage
from memshare_memory.belief.writers import PEOPLE, Reading, Writers, writers, writers_key
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import Recall
from tests.support.graded import as_pair, graded
from tests.support.memories import remembered

SMALL = Reading("poem", "small")


def test_whose_answers_help_a_model_is_worth_more_to_it(redis_client: redis.Redis) -> None:
    known = Writers(redis_client)
    for number in range(20):
        known.count(SMALL, f"own {number}", "small", 30.0 if number % 2 else 10.0)
        known.count(SMALL, f"own {number}", "small", 99.0)  # again: it counts once
        known.count(SMALL, f"foreign {number}", "large", -20.0)
    known.count(Reading("poem", "large"), "one", "small", 50.0)

    found = {one.writer: one for one in writers(redis_client, "poem")}

    assert {one.reader for one in found.values()} == {"small"}, "another reader has followed one writer alone"
    assert (found["small"].points, found["large"].points) == (20.0, -20.0)
    assert found["small"].error == pytest.approx(2.294, abs=0.001)
    assert found["small"].worth == pytest.approx(0.4 * 0.5 * 0.2)
    assert known.worths([SMALL, Reading("plan", "small")]) == {
        SMALL: {"small": pytest.approx(0.04), "large": pytest.approx(-0.04)},
        Reading("plan", "small"): {},
    }


def test_what_people_wrote_is_a_writer_too(redis_client: redis.Redis) -> None:
    known = Writers(redis_client)
    known.count(SMALL, "one", None, 10.0)
    known.count(SMALL, "two", "small", 0.0)

    assert [one.writer for one in writers(redis_client, "poem")] == [PEOPLE, "small"]
    assert known.worths([SMALL])[SMALL][PEOPLE] > 0


@pytest.mark.parametrize("offered", [True, False])
def test_a_graded_task_counts_for_the_writer_of_what_its_answer_followed(
    recall: Recall, pool: Pool, redis_client: redis.Redis, *, offered: bool
) -> None:
    settle = SettleStage(pool, redis_client, Lessons(redis_client, 1))
    written = [remembered("red lamp", answer="It is red and old", model="large", task_id="1")[0]]
    recall.store.put([(one, recall.vectors([one])[0]) for one in written])

    for number, score in enumerate((50, 50, 50, 50, 50, 90)):
        one = graded(recall, f"lamp {number}", "It is red and old", journey=str(number), score=score,
                     shown=[written[0].id])  # fmt: skip
        one = as_pair(OutsidePair, one) if offered else one
        settle.run(str(number), one)
    settle.run(str(number), one)  # a message that is delivered again counts once

    counted = redis_client.hgetall(writers_key("poem"))
    assert counted == ({} if offered else {"scripted\x1flarge": "1 40 1600 0 0 0"})
