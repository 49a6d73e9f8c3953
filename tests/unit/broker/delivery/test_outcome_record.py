"""What is kept of a journey, on a real Redis."""

from __future__ import annotations

from uuid import UUID

import pytest
import redis

from memshare_broker.delivery.dead_letters import DeadLetters, letter_for
from memshare_broker.delivery.journey_records import OutcomeRecord, read_outcomes
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.schema import Entry, Outgoing, journey_key
from memshare_broker.errors import GiveUp, QueueFull

MEMORY = UUID(int=3)


@pytest.fixture
def ledger(redis_client: redis.Redis) -> Ledger:
    return Ledger(redis_client, keep_days=1)


def entry(stage: str, journey: str = "j1") -> Entry:
    return Entry(id=f"{journey}-{stage}", task=stage, queue=stage, body={}, journey=journey, stage=stage)


def sent(stage: str) -> list[Outgoing]:
    return [Outgoing(entry(stage), stage, "a message")]


def kept(client: redis.Redis, journey: str = "j1") -> OutcomeRecord | None:
    return read_outcomes(client, [journey]).get(journey)


def test_what_became_of_a_kept_journey_is_written_down_step_by_step(ledger: Ledger, redis_client: redis.Redis) -> None:
    ledger.open(entry("question"), keep=True)
    assert kept(redis_client) == OutcomeRecord()

    ledger.commit(entry("question"), {"question": "一盏灯?"}, sent("score"), facts={"question": "一盏灯?"})
    assert kept(redis_client) == OutcomeRecord(question="一盏灯?")
    score = {"total": 88.5, "threshold": 81, "accepted": True}
    ledger.commit(entry("score"), score | {"model": "m"}, sent("settle"), facts=score)
    settlement = {"outcome": "stored", "memory_id": str(MEMORY)}
    ledger.commit(entry("settle"), settlement | {"reason": "good"}, sent("learn"), facts=settlement)
    settled = kept(redis_client)
    ledger.commit(entry("learn"), {"outcome": "published", "reason": "no worse"})

    assert settled == OutcomeRecord(
        question="一盏灯?", total=88.5, threshold=81, accepted=True, outcome="stored", memory_id=MEMORY
    )
    assert kept(redis_client) == settled, "a stage that has no facts to tell says nothing"
    assert settled is not None
    assert (settled.ended, settled.dead) == (True, False)


def test_a_kept_journey_is_never_opened_again_even_when_it_is_forgotten(
    ledger: Ledger, redis_client: redis.Redis
) -> None:
    assert ledger.open(entry("question"), keep=True) is True
    ledger.commit(entry("question"), {"question": "A lamp?"}, sent("score"))
    redis_client.delete(journey_key("j1"))

    assert ledger.open(entry("question"), keep=True) is False
    assert ledger.open_messages() == {"question": 0, "score": 1}


def test_a_journey_that_was_not_opened_to_be_kept_is_not_kept(ledger: Ledger, redis_client: redis.Redis) -> None:
    ledger.open(entry("question"))
    ledger.commit(entry("question"), {"question": "A lamp?"}, facts={"question": "A lamp?"})
    ledger.bury(entry("score"), "{}", error="no")

    assert kept(redis_client) is None


def test_what_a_full_queue_refuses_can_be_opened_later(ledger: Ledger, redis_client: redis.Redis) -> None:
    ledger.open(entry("question"), limit=1, keep=True)

    with pytest.raises(QueueFull):
        ledger.open(entry("question", "j2"), limit=1, keep=True)
    assert kept(redis_client, "j2") is None
    ledger.commit(entry("question"), {"question": "A lamp?"}, facts={"question": "A lamp?"})

    assert ledger.open(entry("question", "j2"), limit=1, keep=True) is True


def test_a_dead_letter_ends_a_kept_journey_until_it_is_retried(ledger: Ledger, redis_client: redis.Redis) -> None:
    ledger.open(entry("question"), keep=True)
    ledger.bury(entry("question"), "{}", "credentials", error="The key is revoked.")
    dead = kept(redis_client)
    ledger.revive(entry("question"))

    assert dead is not None
    assert (dead.ended, dead.dead, dead.error) == (True, True, "The key is revoked.")
    assert kept(redis_client) == OutcomeRecord()


def test_a_dead_letter_of_a_stage_that_decides_nothing_leaves_what_is_known(
    ledger: Ledger, redis_client: redis.Redis
) -> None:
    ledger.open(entry("question"), keep=True)
    ledger.commit(entry("settle"), {"outcome": "stored"}, facts={"outcome": "stored"})
    lesson = entry("learn").model_copy(update={"decides": False})

    ledger.bury(lesson, "{}", error="No model is there.")

    assert kept(redis_client) == OutcomeRecord(outcome="stored")


def test_a_kept_journey_whose_dead_letter_is_dropped_has_ended_and_is_not_dead(
    ledger: Ledger, redis_client: redis.Redis
) -> None:
    letters = DeadLetters(redis_client, ledger)
    ledger.open(entry("question"), keep=True)
    letters.add(letter_for(entry("question"), GiveUp("no such model"), tries=1, kind=None))
    before = kept(redis_client)

    letters.drop(letters.get("j1-question"))

    after = kept(redis_client)
    assert before is not None
    assert after is not None
    assert (before.dead, after.dead, after.ended, after.outcome) == (True, False, True, "dropped")
