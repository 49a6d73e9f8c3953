"""Sub-questions of a task whose answer is remembered are graded as pairs of their own, and become memories."""

from __future__ import annotations

from uuid import UUID

import pytest
import redis

from memshare_broker.delivery.hops import SCORE
from memshare_broker.delivery.stage import Outcome
from memshare_broker.wire.grades import GradedTask, Settlement
from memshare_broker.wire.messages import AgentPair, PartAnswer, PartPair, Shown
from memshare_memory.admit.after import Lessons
from memshare_memory.admit.settle import SettleStage
from memshare_memory.belief.bandit import Arms
from memshare_memory.curate.forgetting import Forgetting
from memshare_memory.curate.requests import Forget
from memshare_memory.memory import Memory, memory_id
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import Recall
from memshare_memory.stores.store import Where
from tests.support.graded import as_pair, graded
from tests.support.memories import remembered

QUESTION, ANSWER = "Who built the mill of Larkfield?", "Ada Korn did."
PART = memory_id("poem", QUESTION, ANSWER)


@pytest.fixture
def settle(pool: Pool, redis_client: redis.Redis) -> SettleStage:
    return SettleStage(pool, redis_client, Lessons(redis_client, 0, learn=False))


@pytest.fixture
def read(recall: Recall) -> Memory:
    """A memory that the sub-question was answered from."""
    memory = remembered("A millwright", pool="poem", submitter="eve", task_id="own")[0]
    recall.store.put([(memory, recall.vectors([memory])[0])])
    return memory


def whole(recall: Recall, read: Memory, *, score: float = 90, journey: str = "one", **fields: object) -> GradedTask:
    pair = graded(recall, "Where was the builder of the mill born?", "In Ulm.", score=score, journey=journey)
    parts = (PartAnswer(question=QUESTION, answer=ANSWER, shown=(Shown(id=read.id, similarity=0.5, share=1.0),)),)
    return pair.model_copy(update={"task": pair.task.model_copy(update={"parts": parts, **fields})})


def sent(outcome: Outcome) -> list[PartPair]:
    return [one.body for one in outcome.followings if isinstance(one.body, PartPair)]


def settlement(outcome: Outcome) -> Settlement:
    assert isinstance(outcome.record, Settlement)
    return outcome.record


def settled_whole(settle: SettleStage, recall: Recall, read: Memory) -> tuple[UUID, PartPair]:
    done = settle.run("one", whole(recall, read))
    [part] = sent(done)
    found = settlement(done).memory_id
    assert found is not None
    return found, part


def of_part(recall: Recall, part: PartPair, score: float = 90) -> GradedTask:
    return GradedTask(task=part, score=graded(recall, "any", "any", score=score).score)


def memory_of(recall: Recall, one: UUID) -> Memory | None:
    return next(iter(recall.store.page(Where(ids=[one]), 1).memories), None)


def test_a_sub_question_goes_to_the_scorer_in_a_journey_of_its_own_that_is_the_same_however_often_it_is_settled(
    recall: Recall, settle: SettleStage, read: Memory
) -> None:
    first, again = (settle.run("one", whole(recall, read)) for _ in range(2))

    [following] = first.followings
    assert following.hop is SCORE
    [part] = sent(first)
    assert following.journey == part.journey != "one"
    assert (part.prompt, part.answer, part.part_of, part.submitter) == (QUESTION, ANSWER, "one", "ada")
    assert settlement(first).parts == {PART: UUID(part.journey)}
    assert sent(again) == [part]
    assert [one.entry().id for one in again.followings] == [one.entry().id for one in first.followings]


def test_nothing_comes_of_the_sub_questions_of_what_is_not_remembered(
    recall: Recall, settle: SettleStage, read: Memory
) -> None:
    rejected = settle.run("poor", whole(recall, read, score=10, journey="poor"))
    not_kept = settle.run("private", whole(recall, read, journey="private", remember=False))
    stored = settle.run("one", whole(recall, read))
    duplicate = settle.run("two", whole(recall, read, journey="two"))

    assert [settlement(one).outcome for one in (rejected, not_kept, stored, duplicate)] == [
        "rejected", "not kept", "stored", "duplicate"
    ]  # fmt: skip
    assert [len(sent(one)) for one in (rejected, not_kept, stored, duplicate)] == [0, 0, 1, 0]


def test_a_good_sub_question_is_one_memory_whose_parents_are_the_answer_it_was_a_part_of_and_what_it_was_made_of(
    recall: Recall, settle: SettleStage, read: Memory
) -> None:
    answer, part = settled_whole(settle, recall, read)

    outcomes = [settlement(settle.run(part.journey, of_part(recall, part))).outcome for _ in range(2)]

    found = memory_of(recall, PART)
    assert outcomes == ["stored", "stored"]
    assert found is not None
    assert (found.prompt, found.answer, found.task_id) == (QUESTION, ANSWER, part.journey)
    assert (found.parents, found.status, found.score) == ((answer, read.id), "active", 90)
    assert len(recall.store.page(Where(pool="poem"), 10).memories) == 3


def test_a_poor_sub_question_is_no_memory(recall: Recall, settle: SettleStage, read: Memory) -> None:
    _, part = settled_whole(settle, recall, read)

    done = settlement(settle.run(part.journey, of_part(recall, part, score=80)))

    assert (done.outcome, memory_of(recall, PART)) == ("rejected", None)


def test_a_sub_question_does_not_credit_what_it_was_answered_from(
    recall: Recall, settle: SettleStage, read: Memory, redis_client: redis.Redis
) -> None:
    _, part = settled_whole(settle, recall, read)

    arms = Arms(redis_client)

    settle.run(part.journey, of_part(recall, part))
    [untried] = arms.of("poem", [read.id])
    settle.run("task", as_pair(AgentPair, of_part(recall, part), journey="task"))

    assert untried.credits == 0
    assert arms.of("poem", [read.id])[0].credits == 1, "a task credits"


def test_sub_questions_are_forgotten_with_the_answer_and_with_what_they_were_made_of(
    recall: Recall, settle: SettleStage, read: Memory, pool: Pool, redis_client: redis.Redis
) -> None:
    forgetting = Forgetting(pool, redis_client)
    answer, part = settled_whole(settle, recall, read)
    settle.run(part.journey, of_part(recall, part))

    assert forgetting.preview(Forget(ids=(answer,), with_children=True)).memories == 2
    assert set(forgetting.forget(Forget(ids=(read.id,), with_children=True))) == {read.id, PART}


def test_a_sub_question_of_an_answer_that_was_forgotten_meanwhile_is_stale(
    recall: Recall, settle: SettleStage, read: Memory, pool: Pool, redis_client: redis.Redis
) -> None:
    answer, part = settled_whole(settle, recall, read)
    Forgetting(pool, redis_client).forget(Forget(ids=(answer,), with_children=True))

    settle.run(part.journey, of_part(recall, part))

    found = memory_of(recall, PART)
    assert found is not None
    assert found.status == "stale"
