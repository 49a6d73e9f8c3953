"""An answer that a person called wrong is not admitted again for a like prompt, until that is taken back."""

from __future__ import annotations

import json

import pytest
import redis

from memshare_broker.wire.grades import PROGRAM, GradedTask, Settlement, VerdictTask
from memshare_broker.wire.lessons import Evidence
from memshare_broker.wire.messages import Shown
from memshare_memory.admit.after import Lessons
from memshare_memory.admit.settle import SettleStage
from memshare_memory.belief.bandit import Arms, GivenCredit
from memshare_memory.belief.trust import waiting_key
from memshare_memory.curate.curate import Curate
from memshare_memory.curate.requests import Edit
from memshare_memory.curate.traces import remove_traces
from memshare_memory.memory import memory_id
from memshare_memory.people import WRONG_ANSWERS, WrongAnswer, no_longer_wrong, note_wrong
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import Recall
from tests.support.graded import graded
from tests.support.memories import remembered

PROMPT, LIKE, UNLIKE = "Shall I oil the squeaking brake", "Shall I oil the brake", "Who wrote the old verse"
OIL = "Yes, a drop of oil on the pads stops the squeak."


@pytest.fixture
def settle(pool: Pool, redis_client: redis.Redis) -> SettleStage:
    return SettleStage(pool, redis_client, Lessons(redis_client, 1))


def call_wrong(client: redis.Redis, answer: str = OIL, *, curated: bool = True) -> None:
    wrong = WrongAnswer(
        memory=memory_id("poem", PROMPT, answer), pool="poem", prompt=PROMPT, submitter="ada", curated=curated
    )
    note_wrong(client, answer, wrong)


def settled(settle: SettleStage, pair: GradedTask) -> Settlement:
    record = settle.run(pair.task.journey, pair).record
    assert isinstance(record, Settlement)
    return record


@pytest.mark.parametrize(
    ("prompt", "answer", "outcome"),
    [
        (PROMPT, OIL.upper(), "not kept"),
        (PROMPT, f'"{OIL.removesuffix(".")}"', "not kept"),
        (PROMPT, f"- {OIL.replace('a drop', '**a drop**')}", "not kept"),
        (LIKE, OIL, "not kept"),
        (LIKE, "No, clean them.", "stored"),
        (UNLIKE, OIL, "stored"),
    ],
)
def test_what_was_called_wrong_is_not_admitted_for_a_like_prompt(
    recall: Recall, settle: SettleStage, redis_client: redis.Redis, prompt: str, answer: str, outcome: str
) -> None:
    call_wrong(redis_client)

    found = settled(settle, graded(recall, prompt, answer))

    assert found.outcome == outcome
    assert (found.memory_id is None, found.reason == "a person called this answer wrong") == (outcome != "stored",) * 2


@pytest.mark.parametrize(("prompt", "outcome"), [(PROMPT, "not kept"), (LIKE, "stored")])
def test_few_words_and_what_a_program_checked_are_wrong_for_that_very_prompt_alone(
    recall: Recall, settle: SettleStage, redis_client: redis.Redis, prompt: str, outcome: str
) -> None:
    call_wrong(redis_client, "Yes.")
    call_wrong(redis_client)
    checked = graded(recall, prompt, OIL, journey="checked")
    checked = checked.model_copy(update={"score": checked.score.model_copy(update={"model": PROGRAM})})

    assert settled(settle, graded(recall, prompt, "Yes.")).outcome == outcome
    assert settled(settle, checked).outcome == outcome


def test_where_a_program_grades_an_answer_with_other_marks_is_another_one(
    recall: Recall, settle: SettleStage, redis_client: redis.Redis
) -> None:
    call_wrong(redis_client, "**42**")
    hidden = remembered(PROMPT, answer="**42**", status="hidden")[0]
    recall.store.put([(hidden, recall.vectors([hidden])[0])])
    pairs = [graded(recall, PROMPT, answer, journey=answer) for answer in ("42", "**42**")]
    checked = [one.model_copy(update={"score": one.score.model_copy(update={"model": PROGRAM})}) for one in pairs]

    assert [settled(settle, one).outcome for one in (*pairs, checked[1])] == ["not kept"] * 3
    assert settled(settle, checked[0]).outcome == "stored"


def test_the_word_of_who_gave_the_task_counts_for_their_own_tasks_alone(
    recall: Recall, settle: SettleStage, redis_client: redis.Redis
) -> None:
    call_wrong(redis_client, curated=False)

    own = settled(settle, graded(recall, PROMPT, OIL, submitter="ada", journey="own"))
    another = settled(settle, graded(recall, PROMPT, OIL, submitter="bea", journey="another"))

    assert (own.outcome, another.outcome) == ("not kept", "stored")


def test_what_is_no_longer_wrong_or_shown_again_by_a_person_is_admitted(
    recall: Recall, settle: SettleStage, pool: Pool, redis_client: redis.Redis
) -> None:
    call_wrong(redis_client)
    no_longer_wrong(redis_client, OIL, memory_id("poem", PROMPT, OIL))
    first = settled(settle, graded(recall, PROMPT, OIL))
    assert first.outcome == "stored"
    assert first.memory_id is not None

    call_wrong(redis_client)
    for status in ("hidden", "active"):
        Curate(pool, redis_client).edit(Edit.model_validate({"id": first.memory_id, "status": status}))

    assert settled(settle, graded(recall, LIKE, OIL, journey="again")).outcome == "stored"


def test_what_is_purged_is_not_among_the_wrong_answers(redis_client: redis.Redis) -> None:
    call_wrong(redis_client)
    call_wrong(redis_client, "Another answer of more than four words.")

    remove_traces(redis_client, [memory_id("poem", PROMPT, OIL)], [], None)
    assert [json.loads(one)["prompt"] for one in redis_client.hvals(WRONG_ANSWERS)] == [PROMPT]

    remove_traces(redis_client, [], [], "ada")
    assert not redis_client.exists(WRONG_ANSWERS)


def test_a_word_that_is_taken_back_leaves_credibility_and_evidence_as_they_were(
    recall: Recall, settle: SettleStage, redis_client: redis.Redis
) -> None:
    pair, fact = remembered(PROMPT, answer=OIL)[0], remembered(None, answer="Oil is slippery")[0]
    recall.store.put(list(zip([pair, fact], recall.vectors([pair, fact]), strict=True)))
    arms, shown = Arms(redis_client), tuple(Shown(id=one.id, similarity=0.9) for one in (pair, fact))
    before = [arm.b.tolist() for arm in arms.of("poem", [pair.id, fact.id])]
    word = VerdictTask(journey="one", pool="poem", prompt=PROMPT, submitter="bob", shown=shown, verdict=0)
    settle.credit(word)
    assert [arm.credits for arm in arms.of("poem", [pair.id, fact.id])] == [1, 1]

    settle.credit(word.model_copy(update={"journey": "two", "verdict": 0.5, "takes_back": True}))

    after = arms.of("poem", [pair.id, fact.id])
    assert [arm.credits for arm in after] == [0, 0]
    assert [arm.b.tolist() for arm in after] == before
    assert GivenCredit(redis_client).of("poem", [pair.id, fact.id]) == {}
    [text] = redis_client.hvals(waiting_key("poem", "tests/words"))
    said = Evidence.model_validate_json(text)
    assert (said.by, said.memory.id, said.weight) == ("bob", pair.id, 0), "a counter-word, if it was learnt from"

    settle.credit(word.model_copy(update={"journey": "three"}))
    assert [arm.credits for arm in arms.of("poem", [pair.id, fact.id])] == [1, 1]
