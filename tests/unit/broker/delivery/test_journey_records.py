"""What is kept of a journey, and for how long, on a real Redis."""

from typing import Any

import pytest
import redis

from memshare.client.journey import read_journey
from memshare_broker.delivery.dead_letters import DeadLetters, letter_for
from memshare_broker.delivery.hops import ANSWER, EXTRACT, LEARN, SCORE, SETTLE, Hop
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.schema import Entry, journey_key, trace_key
from memshare_broker.delivery.submission import recorded
from memshare_broker.errors import GiveUp
from memshare_broker.wire.messages import AgentTask, Cancellation
from memshare_memory.curate.traces import remove_traces

ANSWERED = {
    "task_id": "t1",
    "agent": "reasoning",
    "kind": None,
    "answer": "In 1879.",
    "model": "m",
    "memories": [],
    "retriever_version": 0,
    "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    "seconds": 1.5,
    "steps": [{"number": 1, "parent": None, "depth": 0, "operator": "searcher", "arguments": "{}", "said": "A lamp."}],
    "verified": True,
    "withheld": None,
    "quoted": None,
}
SCORED = {
    "total": 90.0,
    "threshold": 80.0,
    "accepted": True,
    "criteria": {"wit": {"low": 8.0, "high": 10.0, "points": 10.0}},
    "rubric": "logic",
    "rubric_version": "1",
    "model": "m",
    "usage": {"prompt_tokens": 9, "completion_tokens": 4},
}
SETTLED = {"memory_id": None, "outcome": "stored", "reason": "it is good enough", "learnt": [], "parts": {}}
LEARNT = {"outcome": "learnt", "reason": "it taught something"}
ASKED = ANSWER.of("reasoning").next(AgentTask(prompt="When was she born?", submitter="ada"), "t1").entry()


@pytest.fixture
def ledger(redis_client: redis.Redis) -> Ledger:
    return Ledger(redis_client, keep_days=7, traces_days=1)


def run(ledger: Ledger, hop: Hop[Any, Any], record: dict[str, Any]) -> None:
    """A message of the journey ends with this record."""
    one = (
        ASKED if hop is ANSWER else Entry(id=hop.name, task=hop.task, queue="q", body={}, journey="t1", stage=hop.name)
    )
    ledger.begin(one, "a worker")
    ledger.commit(one, record, details=hop.details)


def finished(ledger: Ledger) -> None:
    for hop, record in ((ANSWER, ANSWERED), (SCORE, SCORED), (SETTLE, SETTLED), (LEARN, LEARNT)):
        run(ledger, hop, record)


def a_day_later(client: redis.Redis) -> None:
    """What is to be gone by then is gone."""
    for key in map(str, client.scan_iter("memshare:*")):
        if 0 <= client.ttl(key) <= 86_400:
            client.delete(key)


def test_at_first_all_of_a_journey_is_known(ledger: Ledger) -> None:
    finished(ledger)

    journey = read_journey(ledger, "t1")

    assert (ledger.journey("t1")["answer"], ledger.journey("t1")["score"]) == (ANSWERED, SCORED)
    assert journey.lesson
    assert journey.lesson.reason == "it taught something"
    assert (set(journey.hops), journey.details_dropped) == ({"answer", "score", "settle", "learn"}, False)


def test_after_a_day_the_answer_the_score_and_what_was_remembered_are_known_and_no_details(
    ledger: Ledger, redis_client: redis.Redis
) -> None:
    finished(ledger)

    a_day_later(redis_client)

    journey = read_journey(ledger, "t1")
    assert (journey.prompt, journey.answer, journey.submitter) == ("When was she born?", "In 1879.", "ada")
    assert journey.score
    assert (journey.score.total, journey.score.criteria) == (90.0, {})
    assert (journey.outcome, journey.verified, journey.ended) == ("stored", True, True)
    assert (journey.steps, journey.lesson, journey.hops, journey.details_dropped) == ((), None, {}, True)
    assert redis_client.ttl(journey_key("t1")) > 6 * 86_400


def test_details_are_never_kept_longer_than_the_rest(redis_client: redis.Redis) -> None:
    finished(Ledger(redis_client, keep_days=1))

    assert redis_client.ttl(trace_key("t1")) <= redis_client.ttl(journey_key("t1"))


def test_a_run_that_is_not_verified_has_ended_without_its_steps_too(ledger: Ledger, redis_client: redis.Redis) -> None:
    run(ledger, ANSWER, ANSWERED | {"verified": False})

    a_day_later(redis_client)

    assert read_journey(ledger, "t1").ended


def test_a_message_that_has_ended_is_not_run_again_when_its_details_are_gone(
    ledger: Ledger, redis_client: redis.Redis
) -> None:
    finished(ledger)
    run(ledger, EXTRACT, {"journey": "t1"})

    a_day_later(redis_client)

    again = Entry(id="extract", task=EXTRACT.task, queue="q", body={}, journey="t1", stage=EXTRACT.name)
    assert ledger.begin(again, "another") == (0, {})
    assert ledger.begin(ASKED, "another") == (0, ANSWERED | {"steps": []})
    assert not ledger.commit(again, {}).first


def test_what_a_message_did_is_handed_on_whole_while_its_details_are_there(ledger: Ledger) -> None:
    finished(ledger)

    assert ledger.begin(ASKED, "another") == (0, ANSWERED)
    assert ledger.commit(ASKED, {"answer": "another"}, details=ANSWER.details).record == ANSWERED


def test_a_submission_tells_its_answer_when_celerys_record_is_gone(ledger: Ledger, redis_client: redis.Redis) -> None:
    assert recorded(redis_client, "t1") == {"status": "PENDING"}

    finished(ledger)
    a_day_later(redis_client)

    assert recorded(redis_client, "t1") == {"status": "SUCCESS", "result": ANSWERED | {"steps": []}}


def test_so_does_one_that_was_given_up_or_cancelled(ledger: Ledger, redis_client: redis.Redis) -> None:
    ledger.open(ASKED)
    DeadLetters(redis_client, ledger).add(letter_for(ASKED, GiveUp("The model is gone."), tries=1))
    dead = recorded(redis_client, "t1")
    other = ASKED.model_copy(update={"id": "t2", "journey": "t2"})
    ledger.open(other)
    ledger.cancel(other, Cancellation(at=1.0, why="Somebody cancelled it."))

    assert (dead["status"], str(dead["result"])) == ("FAILURE", "The model is gone.")
    assert recorded(redis_client, "t2") == {"status": "REVOKED", "result": "Somebody cancelled it."}


def test_purging_takes_both_halves_and_needs_but_one(ledger: Ledger, redis_client: redis.Redis) -> None:
    finished(ledger)
    assert remove_traces(redis_client, (), (), "ada").journeys == 1
    assert not [*redis_client.scan_iter("memshare:trace:*")]

    finished(ledger)
    a_day_later(redis_client)

    assert remove_traces(redis_client, (), (), "ada").journeys == 1
    assert ledger.journey("t1") == {}
