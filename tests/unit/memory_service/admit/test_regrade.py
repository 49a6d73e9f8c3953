"""A memory that a person changed is graded again."""

from __future__ import annotations

import pytest
import redis

from memshare_broker.wire.grades import GradedTask, Score, Settlement
from memshare_broker.wire.lessons import CompareTask
from memshare_broker.wire.messages import RegradePair, Usage
from memshare_memory.admit.after import Lessons
from memshare_memory.admit.seeds import seeds_mean
from memshare_memory.admit.settle import SettleStage
from memshare_memory.curate.curate import Curate
from memshare_memory.curate.requests import Edit
from memshare_memory.memory import Memory
from memshare_memory.pool.pool import Pool
from memshare_memory.stores.store import Store, Where
from tests.support.memories import remembered


def graded(memory: Memory, total: float, answer: str | None = None) -> GradedTask:
    task = RegradePair(
        journey="again", agent="poem", kind=None, pool=memory.pool, rubric="poem", prompt=memory.prompt or "",
        answer=answer or memory.answer, submitter="eve", memory_id=memory.id,
    )  # fmt: skip
    score = Score(
        total=total, threshold=80, accepted=total >= 80, criteria={}, rubric="poem", rubric_version="2", model="m",
        usage=Usage(),
    )  # fmt: skip
    return GradedTask(task=task, score=score)


@pytest.fixture
def curate(pool: Pool, redis_client: redis.Redis) -> Curate:
    return Curate(pool, redis_client)


@pytest.fixture
def settle(pool: Pool, redis_client: redis.Redis) -> SettleStage:
    return SettleStage(pool, redis_client, Lessons(redis_client, 1))


@pytest.fixture
def edited(curate: Curate) -> Memory:
    curate.restore([remembered("A lamp", answer="Red.", score=95)[0]])
    return curate.get(curate.edit(Edit(id=remembered("A lamp", answer="Red.")[0].id, answer="Green.", by="eve")).id)


def settled(settle: SettleStage, task: GradedTask) -> Settlement:
    record = settle.run("again", task).record
    assert isinstance(record, Settlement)
    return record


def test_it_keeps_its_id_and_has_the_score_of_what_it_says_now(
    store: Store, curate: Curate, settle: SettleStage, edited: Memory, redis_client: redis.Redis
) -> None:
    assert (edited.score, seeds_mean(redis_client, "poem")) == (None, None)

    settlement = settled(settle, graded(edited, 85))

    again = curate.get(edited.id)
    assert (settlement.outcome, settlement.memory_id) == ("stored", edited.id)
    assert (again.score, again.rubric_version, again.status) == (85, "2", "active")
    assert again.history == edited.history
    assert store.count(Where()) == {"poem": 1}
    assert seeds_mean(redis_client, "poem") == 85


def test_one_that_is_not_good_enough_is_hidden(curate: Curate, settle: SettleStage, edited: Memory) -> None:
    settlement = settled(settle, graded(edited, 40))

    assert (settlement.outcome, "so it is hidden" in settlement.reason) == ("rejected", True)
    assert (curate.get(edited.id).score, curate.get(edited.id).status) == (40, "hidden")


def test_a_score_of_another_text_is_not_given_to_a_memory(curate: Curate, settle: SettleStage, edited: Memory) -> None:
    settlement = settled(settle, graded(edited, 99, answer="A far better text."))

    assert settlement.outcome == "not kept"
    assert curate.get(edited.id) == edited


def test_a_stale_memory_that_a_grade_shows_again_is_compared_with_what_came_meanwhile(
    curate: Curate, settle: SettleStage, edited: Memory
) -> None:
    curate.restore([edited.model_copy(update={"status": "stale"}), remembered("A lamp", answer="Blue.")[0]])

    following = settle.run("again", graded(edited, 95)).followings

    tasks = [one.body for one in following if isinstance(one.body, CompareTask)]
    assert [[one.answer for one in (task.memory, *task.others)] for task in tasks] == [["Green.", "Blue."]]
