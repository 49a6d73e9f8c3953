from __future__ import annotations

import json
from uuid import uuid4

import redis

from memshare_broker.wire.comparisons import Compared, CompareTask, Said
from memshare_llm.no_model import NoModel
from memshare_memory.recall.conflicts import Conflicts
from memshare_scorer.contradiction import LONGEST, compare
from memshare_scorer.tasks import Comparing
from tests.support.scripted_chat import ScriptedChat

ABOUT = "When is the museum closed?"
MONDAYS, TUESDAYS = "The museum is closed on Mondays.", "The museum is closed on Tuesdays."


def said(answer: str, prompt: str | None = ABOUT) -> Said:
    return Said(id=uuid4(), prompt=prompt, answer=answer)


def a_task(answer: str, *others: str) -> CompareTask:
    return CompareTask(journey="j", pool="poem", memory=said(answer), others=tuple(map(said, others)))


def verdicts(*contradicts: bool) -> dict[str, object]:
    return {f"other_{at}": {"claims": f"Why {at}.", "contradicts": one} for at, one in enumerate(contradicts, 1)}


def test_one_question_is_asked_for_all_that_may_contradict_and_the_reason_comes_before_the_verdict() -> None:
    chat, task = ScriptedChat(verdicts(True, False)), a_task(MONDAYS, TUESDAYS, "x" * 2 * LONGEST)

    found = compare(chat, task)

    assert found.contradicted == {task.others[0].id: "Why 1."}
    assert (found.compared, found.usage.prompt_tokens) == (2, 10)
    [(_, asked)] = chat.conversations
    document = json.loads(asked.content)
    assert document["memory"] == {"prompt": ABOUT, "answer": MONDAYS}
    assert len(document["others"]["other_2"]["answer"]) < LONGEST + 10
    [schema] = chat.schemas
    assert schema is not None
    assert list(schema.model_json_schema()["$defs"]["Comparison"]["properties"]) == ["claims", "contradicts"]


def test_what_was_compared_is_noted_of_each_pair(redis_client: redis.Redis) -> None:
    task, conflicts = a_task(MONDAYS, TUESDAYS, "It has a café."), Conflicts(redis_client)

    outcome = Comparing(ScriptedChat(verdicts(True, False)), conflicts).run("j", task)

    assert isinstance(outcome.record, Compared)
    assert outcome.ended == "contradicts"
    assert conflicts.rivals("poem", [task.memory.id]) == {task.memory.id: {task.others[0].id: False}}
    assert conflicts.judged("poem", task.memory.id) == {one.id for one in task.others}


def test_what_two_memories_claim_is_noted_until_one_is_dropped(redis_client: redis.Redis) -> None:
    task, conflicts = a_task(MONDAYS, TUESDAYS), Conflicts(redis_client)

    compared = Comparing(ScriptedChat(verdicts(True)), conflicts).run("j", task).record

    [found] = conflicts.pairs("poem")
    assert found.claims == compared.contradicted[task.others[0].id] != ""
    conflicts.drop("poem", [task.others[0].id])
    assert conflicts.pairs("poem") == []
    assert redis_client.keys("memshare:claims:*") == []


def test_a_persons_word_stands_against_a_models(redis_client: redis.Redis) -> None:
    task, conflicts = a_task(MONDAYS, TUESDAYS), Conflicts(redis_client)
    conflicts.judge("poem", task.memory.id, task.others[0].id, "dismissed")

    Comparing(ScriptedChat(verdicts(True)), conflicts).run("j", task)

    assert conflicts.pairs("poem") == []


def test_without_a_model_nothing_is_said_of_any_pair(redis_client: redis.Redis) -> None:
    task, conflicts = a_task(MONDAYS, TUESDAYS), Conflicts(redis_client)

    outcome = Comparing(NoModel(), conflicts).run("j", task)

    assert isinstance(outcome.record, Compared)
    assert (outcome.record.compared, outcome.record.contradicted, outcome.ended) == (0, {}, "no model")
    assert conflicts.judged("poem", task.memory.id) == set()
