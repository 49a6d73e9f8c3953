"""How a journey is put together from what the stages recorded, on a real Redis."""

from __future__ import annotations

from uuid import UUID

import pytest
import redis

from memshare.client.journey import read_journey
from memshare_broker.delivery.dead_letters import DeadLetters, letter_for
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.schema import Entry
from memshare_broker.errors import BadInput
from memshare_broker.wire.grades import CriterionScore, Question, Score, Settlement
from memshare_broker.wire.messages import Answer, Message, Quoted, Shown, Step, Usage
from tests.support.answered import a_seed

ANSWER = Answer(
    task_id="t1",
    agent="poem",
    kind="limerick",
    answer="There was",
    model="offline",
    memories=(Shown(id=UUID(int=1), similarity=0.5),),
    retriever_version=2,
    usage=Usage(prompt_tokens=10),
    seconds=0.1,
)
SCORE = Score(
    total=90,
    threshold=81,
    accepted=True,
    criteria={"form": CriterionScore(low=80, high=100, points=100)},
    rubric="poem",
    rubric_version="v1",
    model="offline",
    usage=Usage(),
)
SETTLED = Settlement(memory_id=UUID(int=2), outcome="stored", reason="it is good enough")


@pytest.fixture
def ledger(redis_client: redis.Redis) -> Ledger:
    return Ledger(redis_client, keep_days=1)


def entry(stage: str, body: object = None) -> Entry:
    queue = {"answer": "poem", "score": "scorer", "settle": "memory"}[stage]
    task = {"prompt": "A lamp", "kind": "limerick", "submitter": "ada"}
    return Entry(id=f"t1-{stage}", task=stage, queue=queue, body=body or task, journey="t1", stage=stage, begins=True)


def record(ledger: Ledger, stage: str, what: Message) -> None:
    ledger.commit(entry(stage), what.model_dump(mode="json"))


def bury(ledger: Ledger, redis_client: redis.Redis, buried: Entry, reason: str) -> None:
    ledger.begin(buried, "life")
    DeadLetters(redis_client, ledger).add(letter_for(buried, BadInput(reason), tries=1, kind="malformed"))


def test_an_unknown_id_is_refused(ledger: Ledger) -> None:
    with pytest.raises(BadInput, match=r"No task has the id 't1'\. Tasks are known for some days only"):
        read_journey(ledger, "t1")


def test_a_task_for_which_nothing_is_near_enough_is_at_its_end_and_not_answered(ledger: Ledger) -> None:
    ledger.open(entry("answer"))
    record(ledger, "answer", ANSWER.model_copy(update={"verified": False, "answer": "Nothing near enough."}))

    far = read_journey(ledger, "t1")

    assert (far.state, far.ended) == ("unanswered", True)


def test_a_journey_says_how_far_it_has_come(ledger: Ledger) -> None:
    ledger.open(entry("answer"))
    queued = read_journey(ledger, "t1")
    record(ledger, "answer", ANSWER)
    answered = read_journey(ledger, "t1")
    record(ledger, "score", SCORE)
    graded = read_journey(ledger, "t1")
    record(ledger, "settle", SETTLED)
    settled = read_journey(ledger, "t1")

    assert [one.state for one in (queued, answered, graded, settled)] == ["queued", "answered", "graded", "settled"]
    assert [one.ended for one in (queued, answered, graded, settled)] == [False, False, False, True]
    assert (queued.agent, queued.kind, queued.prompt, queued.submitter) == ("poem", "limerick", "A lamp", "ada")
    assert (queued.answer, queued.score, queued.memory_id, queued.dead) == (None, None, None, None)
    assert (answered.answer, answered.memories, answered.retriever_version) == ("There was", ANSWER.memories, 2)
    assert (graded.score, graded.memory_id) == (SCORE, None)
    assert (settled.memory_id, settled.outcome, settled.reason) == (UUID(int=2), "stored", "it is good enough")


@pytest.mark.parametrize("verified", [True, False])
def test_a_journey_ends_with_an_answer_that_could_not_be_verified(ledger: Ledger, verified: bool) -> None:
    ledger.open(entry("answer"))
    verdict = Step(number=1, parent=None, depth=0, operator="discriminate", arguments="", said="", verified=verified)

    record(ledger, "answer", ANSWER.model_copy(update={"steps": (verdict,), "verified": verified}))

    assert read_journey(ledger, "t1").ended is not verified


def test_the_journey_of_a_standard_answer_begins_with_its_question(ledger: Ledger) -> None:
    body = {"answer": "There was", "kind": "limerick", "submitter": "ada", "round": 1, "remember": True}
    begun = entry("answer", body).model_copy(update={"id": "t1", "task": "agents.poem.question", "stage": "question"})
    ledger.open(begun)
    queued = read_journey(ledger, "t1")
    asked = Question(question="A lamp?", model="offline", usage=Usage(prompt_tokens=7), seconds=0.2)
    ledger.commit(begun, asked.model_dump(mode="json"))
    known = read_journey(ledger, "t1")
    record(ledger, "score", SCORE)
    record(ledger, "settle", SETTLED)
    settled = read_journey(ledger, "t1")

    assert [one.state for one in (queued, known, settled)] == ["queued", "asked", "settled"]
    assert {one.what for one in (queued, known, settled)} == {"standard answer"}
    assert (queued.agent, queued.kind, queued.prompt, queued.answer) == ("poem", "limerick", "", "There was")
    assert (known.prompt, known.model, known.usage, known.submitter) == ("A lamp?", "offline", asked.usage, "ada")
    assert (settled.prompt, settled.outcome) == ("A lamp?", "stored")


def test_the_journey_of_a_seed_begins_at_the_scorer(ledger: Ledger) -> None:
    pair = a_seed("plan").model_copy(update={"journey": "t1"})
    ledger.open(entry("score", pair.model_dump(mode="json")))
    queued = read_journey(ledger, "t1")
    record(ledger, "score", SCORE)

    assert (queued.what, queued.state, queued.agent, queued.kind) == ("seed", "queued", "plan", "travel")
    assert (queued.prompt, queued.answer, queued.submitter) == ("Two days in Rome", "Walk.", "ada")
    assert read_journey(ledger, "t1").state == "graded"


def test_a_task_that_died_on_its_way_keeps_what_was_done_before(ledger: Ledger, redis_client: redis.Redis) -> None:
    ledger.open(entry("answer"))
    record(ledger, "answer", ANSWER)

    bury(ledger, redis_client, entry("score"), "Unknown rubric 'haiku'.")

    journey = read_journey(ledger, "t1")
    assert journey.state == "dead"
    assert (journey.agent, journey.prompt, journey.submitter) == ("poem", "A lamp", "ada")
    assert journey.answer == "There was"
    assert journey.dead is not None
    assert journey.dead.error == "Unknown rubric 'haiku'."


def test_a_message_of_a_foreign_client_that_is_no_task_is_shown_as_it_came(
    ledger: Ledger, redis_client: redis.Redis
) -> None:
    bury(ledger, redis_client, entry("answer", {"colour": "red"}), "It is no task.")

    journey = read_journey(ledger, "t1")

    assert (journey.state, journey.agent, journey.submitter) == ("dead", "poem", "unknown")
    assert journey.prompt == "{'colour': 'red'}"


def test_a_message_that_is_no_task_can_be_read_before_it_is_buried(ledger: Ledger) -> None:
    ledger.begin(entry("answer", {"colour": "red"}), "life")

    assert read_journey(ledger, "t1").state == "queued"


def test_a_journey_without_a_model_says_whose_answer_it_is_and_ends_without_a_score(ledger: Ledger) -> None:
    quoted = Quoted(id=UUID(int=1), submitter="eve", similarity=0.7)
    ledger.open(entry("answer"))
    record(ledger, "answer", ANSWER.model_copy(update={"quoted": quoted}))
    record(ledger, "score", Settlement(memory_id=None, outcome="not graded", reason="no model"))

    journey = read_journey(ledger, "t1")

    assert journey.quoted == quoted
    assert (journey.state, journey.ended, journey.score, journey.memory_id) == ("settled", True, None, None)
    assert (journey.outcome, journey.reason) == ("not graded", "no model")
