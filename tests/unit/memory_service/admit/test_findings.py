"""Concepts are asked for when a memory is written, and written when they are known; so is what contradicts it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
import redis

from memshare_broker.delivery.hops import NextMessage
from memshare_broker.wire.grades import GradedTask
from memshare_broker.wire.lessons import Compared, ComparedPairs, Extracted, ExtractTask, NotedConcepts, Said
from memshare_broker.wire.messages import Learnt, Usage
from memshare_memory.admit.after import Lessons, note_compared, note_concepts
from memshare_memory.admit.settle import SettleStage
from memshare_memory.contradictions import Conflicts
from memshare_memory.curate.curate import Curate
from memshare_memory.curate.forgetting import Forgetting
from memshare_memory.curate.requests import Edit, Forget, NewMemory, RestoreForgotten
from memshare_memory.memory import Memory, memory_id
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import Recall
from memshare_memory.stores.store import Where
from tests.support.graded import graded
from tests.support.memories import remembered

CONCEPTS = {"-1": ("Lamp", "Light"), "0": ("Lamp",), "4": ("Art",)}


@pytest.fixture
def sent() -> list[NextMessage]:
    return []


@pytest.fixture
def curate(pool: Pool, redis_client: redis.Redis, sent: list[NextMessage]) -> Curate:
    return Curate(pool, redis_client, sent.extend, concepts=True)


def asked(messages: list[NextMessage]) -> list[ExtractTask]:
    return [one.body for one in messages if isinstance(one.body, ExtractTask)]


def found_out(memory: Memory, **fields: Any) -> Extracted:
    said = memory_id(memory.pool, memory.prompt, memory.answer)
    known = {"journey": "j", "pool": memory.pool, "memory_id": memory.id, "said": said, "concepts": CONCEPTS}
    return Extracted.model_validate(known | fields)


def noted(pool: Pool, extracted: Extracted) -> str:
    outcome = note_concepts(pool, extracted)
    assert isinstance(outcome.record, NotedConcepts)
    assert outcome.ended == outcome.record.outcome
    return outcome.ended


def test_concepts_are_written_once_beside_all_that_is_known_of_the_memory(pool: Pool, recall: Recall) -> None:
    memory = remembered("red lamp", score=90)[0]
    [vectors] = recall.vectors([memory])
    recall.store.put([(memory, vectors)])

    assert noted(pool, found_out(memory)) == "written"
    assert noted(pool, found_out(memory, concepts={"0": ["Other"]})) == "known"

    [kept] = recall.store.page(Where(), 9).memories
    assert kept == memory.model_copy(update={"concepts": CONCEPTS})
    assert (recall.store.dense_of([memory.id])[memory.id] == vectors.dense).all()


def test_concepts_bring_back_no_memory_that_was_forgotten_meanwhile(
    pool: Pool, recall: Recall, curate: Curate, redis_client: redis.Redis
) -> None:
    [one] = curate.add([NewMemory(pool="poem", prompt="red lamp", answer="Yes.")])
    extracted = found_out(curate.get(one))
    Forgetting(pool, redis_client).forget(Forget(ids=(one,)))

    assert noted(pool, extracted) == "gone"
    assert recall.store.count(Where()) == {}


def test_concepts_of_another_text_are_not_written_and_those_of_the_new_one_are_asked_for(
    pool: Pool, curate: Curate, sent: list[NextMessage]
) -> None:
    [one] = curate.add([NewMemory(pool="poem", prompt="red lamp", answer="Yes.")])
    before = found_out(curate.get(one))
    curate.edit(Edit(id=one, answer="No."))

    assert noted(pool, before) == "changed"
    assert noted(pool, found_out(curate.get(one))) == "written"
    curate.edit(Edit(id=one, status="hidden"))
    assert curate.get(one).concepts == CONCEPTS, "who hides it changes no text"
    curate.edit(Edit(id=one, answer="Yes."))
    assert curate.get(one).concepts == {}
    assert [task.memory_id for task in asked(sent)] == [one] * 3
    assert len({task.journey for task in asked(sent)}) == 3, "also where it says again what it said before"


def test_what_is_brought_in_is_asked_for_unless_it_has_its_concepts_or_is_a_passage(
    pool: Pool, curate: Curate, sent: list[NextMessage]
) -> None:
    plain = remembered("plain", agent="poem", submitter="ada")[0]
    known = remembered("known", concepts=CONCEPTS)[0]
    passage = remembered(None, answer="Page 1.", parents=(plain.id,))[0]

    curate.restore([plain, known, passage])
    curate.add([NewMemory(pool="poem", answer="Lamps are red")])

    first, second = asked(sent)
    assert (first.memory_id, first.agent, first.submitter, first.pool) == (plain.id, "poem", "ada", "poem")
    assert second.memory_id == memory_id("poem", None, "Lamps are red")
    noted(pool, found_out(plain))
    curate.restore([plain])  # as it was exported, before its concepts were known
    assert curate.get(plain.id).concepts == CONCEPTS
    assert len(asked(sent)) == 2


def test_what_is_restored_before_its_concepts_were_known_is_asked_for_in_a_journey_of_that_return(
    pool: Pool, curate: Curate, sent: list[NextMessage], redis_client: redis.Redis
) -> None:
    plain, known, passage = (
        remembered("plain")[0],
        remembered("known", concepts=CONCEPTS)[0],
        remembered(None, answer="Page 1.", parents=(UUID(int=1),))[0],
    )
    curate.restore([plain, known, passage])
    forgetting = Forgetting(pool, redis_client, sent.extend, concepts=True)
    three = (plain.id, known.id, passage.id)

    for _ in range(2):
        forgetting.forget(Forget(ids=three))
        forgetting.restore(RestoreForgotten(ids=three))
    forgetting.forget(Forget(ids=three))
    Forgetting(pool, redis_client, sent.extend).restore(RestoreForgotten(ids=three))

    assert [task.memory_id for task in asked(sent)] == [plain.id] * 3
    assert len({task.journey for task in asked(sent)}) == 3, "a message that has ended is not sent again"


def settled(stage: SettleStage, pair: GradedTask) -> list[ExtractTask]:
    return asked(list(stage.run(pair.task.journey, pair).followings))


def test_what_is_settled_is_asked_for_where_it_was_stored(
    pool: Pool, recall: Recall, redis_client: redis.Redis
) -> None:
    stage = SettleStage(pool, redis_client, Lessons(redis_client, 0, learn=False), concepts=True)
    good, poor = graded(recall, "A lamp", "There was a lamp"), graded(recall, "A shoe", "No.", score=10)
    taught = Learnt(statement="Lamps glow", source="https://example.org/lamp", read=1.8e9)
    reader = graded(recall, "A hat", "A red hat", journey="reader")
    reader = reader.model_copy(update={"task": reader.task.model_copy(update={"learnt": (taught,)})})

    [task] = settled(stage, good)
    assert (task.journey, task.memory_id) == (good.task.journey, memory_id("poem", "A lamp", "There was a lamp"))
    assert settled(stage, poor) == []
    statement, pair = sorted(settled(stage, reader), key=lambda one: one.journey == "reader")
    assert (pair.memory_id, statement.memory_id) == (
        memory_id("poem", "A hat", "A red hat"),
        memory_id("poem", None, "Lamps glow"),
    )
    assert (
        settled(
            SettleStage(pool, redis_client, Lessons(redis_client, 0, learn=False)),
            graded(recall, "A cat", "Mew", journey="off"),
        )
        == []
    )


def test_concepts_go_into_the_trash_with_their_memory_and_come_back_with_it(
    pool: Pool, recall: Recall, curate: Curate, redis_client: redis.Redis
) -> None:
    [one] = curate.add([NewMemory(pool="poem", prompt="red lamp", answer="Yes.")])
    noted(pool, found_out(curate.get(one)))
    forgetting = Forgetting(pool, redis_client)

    forgetting.forget(Forget(ids=(one,)))
    assert recall.store.count(Where()) == {}
    forgetting.restore(RestoreForgotten(ids=(one,)))
    assert curate.get(one).concepts == CONCEPTS


def stored(recall: Recall, *texts: str) -> list[Memory]:
    memories = [remembered(text)[0] for text in texts]
    recall.store.put(list(zip(memories, recall.vectors(memories), strict=True)))
    return memories


def pairs_of(memory: Memory, *others: Memory, contradicted: int) -> ComparedPairs:
    """The first `contradicted` of the others contradict it."""
    claims = {other.id: f"Why {other.id}." for other in others[:contradicted]}
    compared = Compared(memory_id=memory.id, contradicted=claims, compared=len(others), model="offline", usage=Usage())
    return ComparedPairs(journey="j", pool=memory.pool, compared=compared, others=tuple(other.id for other in others))


def test_what_was_compared_is_noted_of_each_pair_until_one_is_dropped(
    pool: Pool, recall: Recall, redis_client: redis.Redis
) -> None:
    memory, rival, other = stored(recall, "mondays", "tuesdays", "café")
    conflicts = Conflicts(redis_client)

    note_compared(pool, redis_client, pairs_of(memory, rival, other, contradicted=1))

    assert conflicts.rivals(memory.pool, [memory.id]) == {memory.id: {rival.id: "contradict"}}
    assert conflicts.judged(memory.pool, memory.id) == {rival.id, other.id}
    [found] = conflicts.pairs(memory.pool)
    assert found.claims == f"Why {rival.id}."
    conflicts.drop(memory.pool, [rival.id])
    assert conflicts.pairs(memory.pool) == []
    assert redis_client.keys("memshare:claims:*") == []


def test_what_is_compared_after_a_decision_on_its_copies_is_decided_as_they_were(
    pool: Pool, recall: Recall, redis_client: redis.Redis
) -> None:
    asked = (("price?", "14 euros"), ("price?", "12 euros"), ("the price?", "14 Euros."), ("its price?", "13 euros"))
    memories = [remembered(prompt, answer=answer)[0] for prompt, answer in asked]
    recall.store.put(list(zip(memories, recall.vectors(memories), strict=True)))
    wrong, right, copy, another = memories
    conflicts = Conflicts(redis_client)
    conflicts.judge(right.pool, right.id, wrong.id, "right")

    note_compared(pool, redis_client, pairs_of(copy, right, another, contradicted=2))
    note_compared(pool, redis_client, pairs_of(another, right, contradicted=1))

    known = conflicts.rivals(right.pool, [copy.id, another.id])
    assert known[copy.id] == {right.id: "wrong", another.id: "contradict"}
    assert known[another.id] == {right.id: "contradict", copy.id: "contradict"}
    assert conflicts.take_back(right.pool, right.id, copy.id)


@pytest.mark.parametrize("changed", [0, 1], ids=["the memory", "the other"])
def test_nothing_is_noted_of_a_text_that_was_changed_while_the_model_was_asked(
    pool: Pool, recall: Recall, curate: Curate, redis_client: redis.Redis, changed: int
) -> None:
    memories = stored(recall, "mondays", "tuesdays")
    said = {one.id: Said.of(one.id, one.prompt, one.answer).digest for one in memories}
    pairs = pairs_of(*memories, contradicted=1).model_copy(update={"said": said})
    before = memories[changed].answer
    curate.edit(Edit(id=memories[changed].id, answer="It says something else."))

    note_compared(pool, redis_client, pairs)
    assert Conflicts(redis_client).pairs("poem") == []

    curate.edit(Edit(id=memories[changed].id, answer=before))
    note_compared(pool, redis_client, pairs)
    assert len(Conflicts(redis_client).pairs("poem")) == 1


def test_a_persons_word_stands_against_a_models(pool: Pool, recall: Recall, redis_client: redis.Redis) -> None:
    memory, rival = stored(recall, "mondays", "tuesdays")
    conflicts = Conflicts(redis_client)
    conflicts.judge(memory.pool, memory.id, rival.id, "dismissed")

    note_compared(pool, redis_client, pairs_of(memory, rival, contradicted=1))

    assert conflicts.pairs(memory.pool) == []


@pytest.mark.parametrize("forgotten", [0, 1], ids=["the memory", "the other"])
def test_nothing_is_noted_of_a_memory_that_was_forgotten_while_the_model_was_asked(
    pool: Pool, recall: Recall, redis_client: redis.Redis, forgotten: int
) -> None:
    memories = stored(recall, "mondays", "tuesdays")
    Forgetting(pool, redis_client).purge(Forget(ids=(memories[forgotten].id,)))

    outcome = note_compared(pool, redis_client, pairs_of(*memories, contradicted=1))

    assert outcome.ended == "gone"
    assert redis_client.keys("memshare:conflicts:*") + redis_client.keys("memshare:claims:*") == []
