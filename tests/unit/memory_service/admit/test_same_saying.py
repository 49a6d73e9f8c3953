"""Nobody takes over what another brought in: by saying the same again, word for word or in other case."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
import redis

from memshare_broker.wire.grades import Settlement
from memshare_memory.admit.after import Lessons
from memshare_memory.admit.settle import SettleStage
from memshare_memory.belief.bandit import Arms, Credit, in_general
from memshare_memory.curate.curate import Curate
from memshare_memory.curate.forgetting import Forgetting
from memshare_memory.curate.requests import Edit, Forget, RestoreForgotten
from memshare_memory.memory import Memory
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import Recall
from memshare_memory.stores.store import Where
from tests.support.graded import graded
from tests.support.memories import remembered

PROMPT, ANSWER = "A lamp", "There was a lamp"
VERBATIM, LIKE_IT = (PROMPT, ANSWER), ("a  Lamp", "there was  a LAMP ")
MARKED = (PROMPT, "- There was **a lamp**.")
UNSEEN = ("A la\u00admp", "There\u00a0was a lamp\u200b")
CURATED: dict[str, Any] = {"task_id": None, "score": None}
SEED: dict[str, Any] = {"task_id": None, "score": 82.0}
ANSWERED: dict[str, Any] = {"task_id": "task", "score": 82.0}


@pytest.fixture
def settle(pool: Pool, redis_client: redis.Redis) -> SettleStage:
    return SettleStage(pool, redis_client, Lessons(redis_client, 1))


def stored(recall: Recall, **fields: Any) -> Memory:
    """What eve submitted, unless the fields say otherwise."""
    memory = remembered(PROMPT, **{"answer": ANSWER, "submitter": "eve", **fields})[0]
    recall.store.put([(memory, recall.vectors([memory])[0])])
    return memory


def offer(
    settle: SettleStage, recall: Recall, said: tuple[str, str], by: str = "mallory", score: float = 100
) -> Settlement:
    outcome = settle.run("theirs", graded(recall, *said, score=score, journey="theirs", submitter=by))
    assert isinstance(outcome.record, Settlement)
    return outcome.record


def memories(recall: Recall) -> list[Memory]:
    return recall.store.page(Where(), 100).memories


@pytest.mark.parametrize("said", [VERBATIM, LIKE_IT, UNSEEN, MARKED])
@pytest.mark.parametrize(
    "fields",
    [CURATED, SEED, ANSWERED, ANSWERED | {"status": "hidden"}, ANSWERED | {"status": "stale"}],
    ids=["curated", "seed", "answered", "hidden", "stale"],
)
def test_the_same_said_again_by_another_with_a_better_score_changes_nothing(
    recall: Recall,
    settle: SettleStage,
    pool: Pool,
    redis_client: redis.Redis,
    fields: dict[str, Any],
    said: tuple[str, str],
) -> None:
    memory, arms = stored(recall, **fields), Arms(redis_client)
    for number in range(5):
        arms.add("poem", f"{number}", [Credit(memory.id, in_general(memory), 1.5)], submitter="bob")
    credited = arms.of("poem", [memory.id])[0]

    settlement = offer(settle, recall, said)
    forgotten = Forgetting(pool, redis_client).forget(Forget(submitter="mallory", roll_back=True))

    assert (settlement.outcome, settlement.memory_id) == ("duplicate", memory.id)
    assert forgotten == []
    assert memories(recall) == [memory]
    after = arms.of("poem", [memory.id])[0]
    assert (after.credits, after.b.tolist()) == (credited.credits, credited.b.tolist())


def test_the_same_without_its_marks_is_found(recall: Recall, settle: SettleStage) -> None:
    memory = stored(recall, answer=MARKED[1], **CURATED)

    assert (offer(settle, recall, VERBATIM).outcome, memories(recall)) == ("duplicate", [memory])


@pytest.mark.parametrize("said", [VERBATIM, LIKE_IT])
@pytest.mark.parametrize("fields", [CURATED, SEED], ids=["curated", "seed"])
def test_what_a_person_brought_in_stays_whatever_its_own_submitters_tasks_say(
    recall: Recall, settle: SettleStage, fields: dict[str, Any], said: tuple[str, str]
) -> None:
    memory = stored(recall, **fields)

    assert offer(settle, recall, said, by="eve").outcome == "duplicate"
    assert memories(recall) == [memory]


@pytest.mark.parametrize("by", ["eve", "mallory"])
def test_what_a_person_has_rewritten_is_not_undone_by_who_offers_the_old_text(
    recall: Recall, settle: SettleStage, pool: Pool, redis_client: redis.Redis, by: str
) -> None:
    memory = stored(recall, **ANSWERED)
    Curate(pool, redis_client).edit(Edit(id=memory.id, answer="There is no lamp"))
    changed = memories(recall)

    settlement = offer(settle, recall, VERBATIM, by=by)

    assert (settlement.outcome, settlement.memory_id) == ("duplicate", memory.id)
    assert (memories(recall), [one.answer for one in changed]) == (changed, ["There is no lamp"])


def test_a_submitters_own_better_one_takes_the_place_and_the_old_one_can_be_restored_with_its_credit(
    recall: Recall, settle: SettleStage, pool: Pool, redis_client: redis.Redis
) -> None:
    memory, forgetting = stored(recall, **ANSWERED), Forgetting(pool, redis_client)
    Arms(redis_client).add("poem", "1", [Credit(memory.id, in_general(memory), 1.5)], submitter="bob")

    settlement = offer(settle, recall, LIKE_IT, by="eve", score=95)

    assert settlement.outcome == "replaced"
    assert [(one.id, one.score) for one in memories(recall)] == [(settlement.memory_id, 95)]
    assert Arms(redis_client).of("poem", [memory.id])[0].credits == 0
    forgetting.restore(RestoreForgotten(ids=(memory.id,)))
    assert memory in memories(recall)
    assert Arms(redis_client).of("poem", [memory.id])[0].credits == 1


def test_a_pair_in_another_spelling_is_the_memory_that_there_is(recall: Recall, settle: SettleStage) -> None:
    said = ("N\u00eemes \u00e0 caf\u00e9", "Au sud, \u00e0 c\u00f4t\u00e9.")
    first = offer(settle, recall, said, by="eve", score=90)
    apart = [unicodedata.normalize("NFD", text) for text in said]
    again = settle.run("later", graded(recall, *apart, journey="later", submitter="ben", score=99)).record

    assert isinstance(again, Settlement)
    assert (again.outcome, again.memory_id) == ("duplicate", first.memory_id)
    assert len(memories(recall)) == 1


def test_another_answer_of_another_stands_beside_it_with_whatever_score(recall: Recall, settle: SettleStage) -> None:
    memory = stored(recall, **ANSWERED)

    settlement = offer(settle, recall, (PROMPT, "No lamp at all"))

    assert settlement.outcome == "stored"
    assert {one.id for one in memories(recall)} == {memory.id, settlement.memory_id}
    assert memory in memories(recall)
