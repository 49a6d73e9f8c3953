from __future__ import annotations

import json
from uuid import uuid4

import pytest
import redis

from memshare_broker.delivery.hops import COMPARE, NOTE_COMPARED
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.errors import GiveUp, NotYet
from memshare_broker.wire.lessons import Compared, ComparedPairs, CompareTask, Said
from memshare_llm.batches import MOST_ALONE, Batches
from memshare_llm.chat import Chat, Reply
from memshare_llm.models import NoModel
from memshare_scorer.contradiction import LONGEST, TOGETHER, compare
from memshare_scorer.tasks import CompareStage, Places
from tests.support.scripted_chat import ScriptedChat

ABOUT = "When is the museum closed?"
MONDAYS, TUESDAYS = "The museum is closed on Mondays.", "The museum is closed on Tuesdays."


def said(answer: str, prompt: str | None = ABOUT) -> Said:
    return Said(id=uuid4(), prompt=prompt, answer=answer)


def a_task(answer: str, *others: str) -> CompareTask:
    return CompareTask(journey="j", pool="poem", memory=said(answer), others=tuple(map(said, others)))


def comparing(chat: Chat, client: redis.Redis, wait: float = 0) -> CompareStage:
    batches: Batches[CompareTask, Compared] = Batches(COMPARE, "comparisons", client, Ledger(client, 1), wait)
    return CompareStage(chat, batches, Places(4))


def verdicts(*contradicts: bool) -> dict[str, list[dict[str, object]]]:
    found = [{"pair": at, "claims": f"Why {at}.", "contradicts": one} for at, one in enumerate(contradicts, 1)]
    return {"comparisons": found[::-1]}


def test_one_question_is_asked_for_all_that_may_contradict_and_the_reason_comes_before_the_verdict() -> None:
    chat, task = ScriptedChat(verdicts(True, False)), a_task(MONDAYS, TUESDAYS, "x" * 2 * LONGEST)

    found = compare(chat, [task])["j"]

    assert found.contradicted == {task.others[0].id: "Why 1."}
    assert (found.compared, found.usage.prompt_tokens) == (2, 10)
    [(_, asked)] = chat.conversations
    document = json.loads(asked.content)
    assert document["texts"]["1"] == {"prompt": ABOUT, "answer": MONDAYS}
    assert document["pairs"] == {"1": ["1", "2"], "2": ["1", "3"]}
    assert len(document["texts"]["3"]["answer"]) < LONGEST + 10
    [schema] = chat.schemas
    assert schema is not None
    assert list(schema.model_json_schema()["$defs"]["PairVerdict"]["properties"]) == ["pair", "claims", "contradicts"]


def test_a_pair_that_is_left_out_or_said_twice_sends_the_reply_back() -> None:
    one, right = verdicts(True), verdicts(True, False)
    twice = {"comparisons": [*one["comparisons"]] * 2}
    for wrong in (one, twice, verdicts(True, False, True)):
        chat, task = ScriptedChat(wrong, right), a_task(MONDAYS, TUESDAYS, "It has a café.")

        assert compare(chat, [task])["j"].contradicted == {task.others[0].id: "Why 1."}

        assert len(chat.conversations) == 2


def test_what_was_compared_is_sent_to_the_memory_service_and_written_by_nobody_else(redis_client: redis.Redis) -> None:
    task = a_task(MONDAYS, TUESDAYS, "It has a café.")

    outcome = comparing(ScriptedChat(verdicts(True, False)), redis_client).run("j", task)

    [sent] = outcome.followings
    assert (sent.hop, outcome.ended) == (NOTE_COMPARED, "contradicts")
    others = tuple(one.id for one in task.others)
    said = {one.id: one.digest for one in (task.memory, *task.others)}
    assert sent.body == ComparedPairs(journey="j", pool="poem", compared=outcome.record, others=others, said=said)
    assert len({*said.values()}) == 3
    assert redis_client.keys("memshare:conflicts:*") == []


def test_without_a_model_nothing_is_said_of_any_pair(redis_client: redis.Redis) -> None:
    task = a_task(MONDAYS, TUESDAYS)

    outcome = comparing(NoModel(), redis_client).run("j", task)

    assert isinstance(outcome.record, Compared)
    assert (outcome.record.compared, outcome.record.contradicted, outcome.ended) == (0, {}, "no model")
    assert outcome.followings == ()


def test_what_a_reply_was_of_no_use_for_waits_ever_longer_and_is_compared_once_one_is(
    redis_client: redis.Redis,
) -> None:
    task = a_task(MONDAYS, TUESDAYS)
    stage = comparing(ScriptedChat(*["rubbish"] * 4, verdicts(True)), redis_client)

    for seconds in (20, 80):
        with pytest.raises(NotYet, match=r"of no use for its comparisons \(invalid reply\)") as waits:
            stage.run("j", task)
        assert waits.value.wait == seconds

    assert stage.run("j", task).ended == "contradicts"


def test_what_no_reply_was_ever_of_use_for_is_given_up_and_can_be_tried_again(redis_client: redis.Redis) -> None:
    task = a_task(MONDAYS, TUESDAYS)
    stage = comparing(ScriptedChat(*["rubbish"] * 2 * MOST_ALONE, verdicts(False)), redis_client)
    for _ in range(MOST_ALONE - 1):
        wait(stage, [task])

    with pytest.raises(GiveUp):
        stage.run("j", task)

    assert stage.run("j", task).ended == "agrees"


def test_what_a_content_filter_refuses_is_not_compared(redis_client: redis.Redis) -> None:
    class Filtered(ScriptedChat):
        def reply(self, *_: object) -> Reply:
            raise GiveUp("Its content filter stopped it.", "content filter")

    outcome = comparing(Filtered(), redis_client).run("j", a_task(MONDAYS, TUESDAYS))

    assert (outcome.ended, outcome.followings) == ("not compared", ())
    assert str(outcome.goes_without) == "Its content filter stopped it."


def several(count: int, submitter: str = "ada") -> list[CompareTask]:
    """Tasks of one submitter whose memory is compared with two others, of which they all share the first."""
    shared = said(TUESDAYS)
    tasks = [a_task(MONDAYS, f"It has {number} rooms.") for number in range(count)]
    return [
        task.model_copy(
            update={"journey": f"{submitter} {at}", "submitter": submitter, "others": (shared, *task.others)}
        )
        for at, task in enumerate(tasks)
    ]


def wait(stage: CompareStage, tasks: list[CompareTask]) -> None:
    for task in tasks:
        with pytest.raises(NotYet):
            stage.run(task.journey, task)


def test_ten_memories_of_one_submitter_are_compared_in_one_call_that_shows_each_text_once(
    redis_client: redis.Redis,
) -> None:
    tasks = several(10)
    chat = ScriptedChat(verdicts(*[True, False] * 10))
    stage = comparing(chat, redis_client, wait=60)
    wait(stage, [*tasks[:-1], *several(3, "bob")])

    records = [stage.run(task.journey, task).record for task in (tasks[-1], *tasks[:-1])]

    [(_, asked)] = chat.conversations
    assert (asked.content.count(TUESDAYS), asked.content.count(MONDAYS)) == (1, 10)
    for task, record in zip((tasks[-1], *tasks[:-1]), records, strict=True):
        assert isinstance(record, Compared)
        assert (record.memory_id, record.contradicted.keys()) == (task.memory.id, {task.others[0].id})
    assert sum(one.usage.prompt_tokens for one in records if isinstance(one, Compared)) == 10


def test_what_is_too_long_to_share_a_call_is_asked_about_in_the_next_one() -> None:
    tasks = [one.model_copy(update={"memory": said("x" * 20 * LONGEST, "y" * LONGEST)}) for one in several(30)]
    fit = 1 + TOGETHER // (2 * LONGEST + 120)

    found = compare(ScriptedChat(verdicts(*[False] * 2 * fit)), tasks)

    assert [*found] == [one.journey for one in tasks[:fit]]
    assert 1 < fit < 30


def test_a_comparison_whose_worker_was_killed_while_it_asked_is_made_again_by_the_next_message(
    redis_client: redis.Redis,
) -> None:
    first, second = several(2)
    ledger, entry = Ledger(redis_client, 1), COMPARE.next(first, first.journey).entry()
    chat = ScriptedChat(*[verdicts(True, False)] * 2)
    wait(comparing(chat, redis_client, wait=60), [first, second])
    ledger.open(entry)
    ledger.begin(entry, "a worker")
    taken: Batches[CompareTask, Compared] = Batches(COMPARE, "comparisons", redis_client, ledger, 0)
    assert [one.task for one in taken.gather(first)] == [first, second]

    wait(comparing(chat, redis_client), [second])
    redis_client.delete("memshare:lives")  # as the sweeper does when the worker is gone
    for task in (second, first):
        assert comparing(chat, redis_client).run(task.journey, task).ended == "contradicts"
