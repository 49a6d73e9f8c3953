"""When a memory was last confirmed, and until when it is valid."""

from __future__ import annotations

import time
from uuid import UUID

import pytest
import redis
from pydantic import ValidationError

from memshare_broker.delivery.journey_records import OPINION, note
from memshare_broker.wire.grades import Opinion, VerdictTask
from memshare_broker.wire.messages import Shown
from memshare_memory.admit.after import Lessons
from memshare_memory.admit.settle import SettleStage
from memshare_memory.belief.promotions import unconfirmed
from memshare_memory.curate.curate import Curate, hide_expired
from memshare_memory.curate.forgetting import Forgetting
from memshare_memory.curate.requests import ConflictDecision, Edit, Forget, NewMemory
from memshare_memory.memory import Memory
from memshare_memory.people import WrongAnswer, note_wrong
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import Recall
from tests.support.graded import graded
from tests.support.memories import remembered

DAY = 86_400.0


@pytest.fixture
def settle(pool: Pool, redis_client: redis.Redis) -> SettleStage:
    return SettleStage(pool, redis_client, Lessons(redis_client, 1))


@pytest.fixture
def one(curate: Curate) -> Memory:
    memory = remembered("red lamp", answer="A lamp that is red.")[0]
    curate.restore([memory])
    return memory


def in_vain(client: redis.Redis) -> list[str]:
    return [str(each) for each in unconfirmed(client, "poem", time.time() + 1, 10)]


def run(settle: SettleStage, recall: Recall, shown: Memory, journey: str, score: float) -> None:
    pair = graded(recall, f"Another lamp {journey}", f"It says {journey}", score=score, journey=journey)
    task = pair.task.model_copy(update={"shown": (Shown(id=shown.id, similarity=0.9),)})
    settle.run(journey, pair.model_copy(update={"task": task}))


def test_a_task_that_went_well_confirms_what_it_was_shown_and_one_that_did_not_is_noted(
    curate: Curate, settle: SettleStage, recall: Recall, one: Memory, redis_client: redis.Redis
) -> None:
    run(settle, recall, one, "bad", 10)
    assert (curate.get(one.id), in_vain(redis_client)) == (one, [str(one.id)])

    run(settle, recall, one, "good", 95)

    confirmed = curate.get(one.id).confirmed
    assert confirmed == pytest.approx(time.time(), abs=60)
    assert curate.get(one.id) == one.model_copy(update={"confirmed": confirmed})
    assert in_vain(redis_client) == []
    run(settle, recall, one, "good again", 95)
    assert curate.get(one.id).confirmed == confirmed, "once a day is enough"


def test_a_persons_word_confirms_and_forgetting_drops_what_was_noted(
    curate: Curate, settle: SettleStage, one: Memory, redis_client: redis.Redis, forgetting: Forgetting
) -> None:
    def told(verdict: float) -> None:
        shown = Shown(id=one.id, similarity=0.9)
        settle.credit(
            VerdictTask(journey=f"said {verdict}", pool="poem", prompt="A lamp", submitter="eve", shown=(shown,),
                        verdict=verdict)
        )  # fmt: skip

    told(0.5)
    assert in_vain(redis_client) == []
    told(0)
    assert in_vain(redis_client) == [str(one.id)]
    told(1)
    assert (in_vain(redis_client), curate.get(one.id).confirmed is None) == ([], False)

    curate.restore([one])
    told(0.1)
    curate.edit(Edit(id=one.id, status="active"))
    assert (in_vain(redis_client), curate.get(one.id).confirmed is None) == ([], False)

    [other] = curate.add([NewMemory(pool="poem", prompt="red lamp", answer="A lamp that is green.")])
    curate.decide(ConflictDecision(memories=(one.id, other), contradict=True, right=other))
    assert curate.get(other).confirmed is not None

    told(0.2)
    forgetting.forget(Forget(ids=(one.id,)))
    assert in_vain(redis_client) == []


@pytest.mark.parametrize("before", [None, 1_700_000_000.5])
def test_a_decision_that_is_taken_back_or_turned_leaves_confirmed_as_it_was(
    curate: Curate, one: Memory, redis_client: redis.Redis, before: float | None
) -> None:
    [other] = curate.add([NewMemory(pool="poem", prompt="red lamp", answer="A lamp that is green.")])
    curate.restore([one.model_copy(update={"confirmed": before})])

    def say(right: UUID | None) -> list[float | None]:
        said = {"undecided": True} if right is None else {"contradict": True, "right": right}
        curate.decide(ConflictDecision(memories=(one.id, other), **said))
        return [curate.get(each).confirmed for each in (one.id, other)]

    for _ in range(2):
        [first, _] = say(one.id)
        assert first == pytest.approx(time.time(), abs=60)
    [first, second] = say(other)
    assert (first, second) == (before, pytest.approx(time.time(), abs=60))
    assert say(None) == [before, None]

    say(one.id)
    curate.edit(Edit(id=one.id, status="active"))
    [first, _] = say(None)
    assert first == pytest.approx(time.time(), abs=60), "a person spoke for it since"
    say(one.id)
    curate.edit(Edit(id=other, answer="A lamp."))
    assert redis_client.keys("memshare:claims:*") == []


def test_what_is_valid_no_longer_is_hidden_and_not_recalled_until_a_person_shows_it_again(
    pool: Pool, curate: Curate, recall: Recall
) -> None:
    def shown() -> int:
        hide_expired(pool)
        return len(recall.nearest("poem", "red lamp", recall.embed("red lamp").unpack(), 5).hits)

    now = time.time()
    over, later, ever = (
        NewMemory(pool="poem", prompt=f"red lamp {number}", answer="Yes.").model_copy(update={"valid_until": until})
        for number, until in enumerate((now - 1, now + DAY, None))
    )
    gone, staying, _ = curate.add([over, later, ever])

    assert shown() == 2
    hidden = curate.get(gone)
    assert (hidden.status, hidden.why_hidden) == ("hidden", "the time until which it was valid is over")
    curate.edit(Edit(id=staying).model_copy(update={"valid_until": now - 2}))
    assert shown() == 1

    back = curate.edit(Edit(id=gone, status="active"))

    assert (back.valid_until, back.why_hidden, shown()) == (None, None, 2)


def test_a_day_ends_with_its_last_second_and_anything_else_is_refused() -> None:
    given = NewMemory(pool="poem", answer="Yes.", valid_until="2099-12-31")  # type: ignore[arg-type]

    assert given.valid_until == 4_102_444_799
    assert NewMemory.model_validate_json(given.model_dump_json()) == given
    with pytest.raises(ValidationError, match=r"a day such as 2026-12-31 \(UTC\)"):
        Edit(id=remembered("lamp")[0].id, valid_until="soon")  # type: ignore[arg-type]
    for past in ("2025-12-31", time.time() - 1):
        with pytest.raises(ValidationError, match="it is past"):
            NewMemory(pool="poem", answer="Yes.", valid_until=past)  # type: ignore[arg-type]


def test_a_memory_of_an_older_release_reads_and_is_not_damaged(curate: Curate, one: Memory) -> None:
    new = {"confirmed", "valid_until", "why_hidden"}
    older = Memory.model_validate(one.model_dump(exclude=new))

    assert older == one == curate.get(one.id)


def test_an_answer_that_was_called_wrong_before_it_was_settled_confirms_nothing(
    curate: Curate, settle: SettleStage, recall: Recall, one: Memory, redis_client: redis.Redis
) -> None:
    note(redis_client, "early", OPINION, Opinion(by="ada", reward=0).model_dump(mode="json"))

    run(settle, recall, one, "early", 95)

    assert (curate.get(one.id).confirmed, in_vain(redis_client)) == (None, [str(one.id)])


def test_an_answer_that_is_known_to_be_wrong_confirms_and_credits_nothing(
    curate: Curate, settle: SettleStage, recall: Recall, one: Memory, redis_client: redis.Redis
) -> None:
    about = {"memory": one.id, "pool": "poem", "prompt": "Another lamp again", "submitter": "ada", "by": "cleo"}
    note_wrong(redis_client, "it says again.", WrongAnswer(journey="first", curated=True, **about))

    run(settle, recall, one, "again", 95)

    [(_, credibility, _)] = curate.judge([one.id])
    assert (curate.get(one.id).confirmed, credibility.credits) == (None, 0)
