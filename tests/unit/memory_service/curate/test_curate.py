from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest
import redis
from numpy.typing import NDArray
from pydantic import ValidationError

from memshare_broker.delivery.hops import EXTRACT, NextMessage
from memshare_broker.errors import BadInput
from memshare_memory.admit.seeds import seeds_mean
from memshare_memory.belief.bandit import Credit, in_general
from memshare_memory.belief.credibility_ranking import CredibilityRanking
from memshare_memory.curate.curate import BATCH, Curate
from memshare_memory.curate.forgetting import Forgetting
from memshare_memory.curate.requests import Edit, EditedMemory, Forget, NewMemory
from memshare_memory.encoders.encoder import ENCODER
from memshare_memory.memory import Memory, Mode
from memshare_memory.pool.owner import WRITERS
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import Recall
from memshare_memory.recall.retriever import Retriever
from memshare_memory.stores.edge_store import EdgeStore
from memshare_memory.stores.store import Hit, Layout, Store, Where, search_one
from tests.support.memories import remembered
from tests.support.word_encoder import WordEncoder


def pair(prompt: str, answer: str = "Yes.", **fields: object) -> NewMemory:
    return NewMemory.model_validate({"pool": "poem", "prompt": prompt, "answer": answer} | fields)


def memory(prompt: str, **fields: object) -> Memory:
    return remembered(prompt, **fields)[0]


def found(recall: Recall, text: str, k: int, mode: Mode) -> list[Hit]:
    """What an agent with this task would be shown."""
    return recall.nearest("poem", text, recall.embed(text).unpack(), k, mode).hits


def test_what_is_added_can_be_found_counted_and_read(store: Store, curate: Curate, recall: Recall) -> None:
    one, other = curate.add([pair("red lamp", score=90), pair("old shoe", pool="plan")])

    assert store.count(Where()) == {"poem": 1, "plan": 1}
    assert curate.get(one).score == 90
    assert [hit.memory.id for hit in found(recall, "a lamp", 3, "dense")] == [one]
    assert curate.get(other).prompt == "old shoe"


def test_concepts_are_asked_for_once_however_often_a_memory_is_brought_in(
    pool: Pool, redis_client: redis.Redis
) -> None:
    sent: list[NextMessage] = []
    curate = Curate(pool, redis_client, sent.extend, concepts=True)
    exported = memory("old shoe", pool="poem")

    for _ in range(2):
        curate.add([pair("red lamp")])
        curate.restore([exported])

    assert [one.hop for one in sent].count(EXTRACT) == 2


def test_adding_twice_is_the_same_as_once(store: Store, curate: Curate) -> None:
    first = curate.add([pair("red lamp")])
    created = curate.get(first[0]).created

    second = curate.add([pair("red lamp"), pair("red lamp")])

    assert second == first * 2
    assert store.count(Where()) == {"poem": 1}
    assert curate.get(first[0]).created == created


def test_adding_a_pair_that_an_agent_made_leaves_its_history_alone(curate: Curate) -> None:
    made = memory("red lamp", task_id="task-1", score=95)
    curate.restore([made])

    curate.add([pair("red lamp", score=1)])

    assert curate.get(made.id) == made


def test_a_statement_can_be_added_without_a_prompt(curate: Curate, recall: Recall) -> None:
    (one,) = curate.add([NewMemory(pool="poem", answer="Lamps are red")])

    assert curate.get(one).prompt is None
    assert [hit.memory.id for hit in found(recall, "lamps are red", 3, "dense")] == [one]


@pytest.mark.parametrize("fault", [{"answer": ""}, {"prompt": ""}, {"pool": "No Pool"}, {"score": 101}, {"extra": 1}])
def test_what_is_no_memory_cannot_be_added(fault: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        NewMemory.model_validate({"pool": "poem", "prompt": "red lamp", "answer": "Yes."} | fault)


def test_restored_memories_are_as_they_were(store: Store, curate: Curate) -> None:
    saved = [memory("red lamp", score=90, task_id="task-1", status="hidden"), memory("old shoe", parents=(uuid4(),))]

    curate.restore(saved)
    curate.restore(saved)

    assert [curate.get(one.id) for one in saved] == saved
    assert store.count(Where()) == {"poem": 2}


def test_a_restored_memory_takes_the_place_of_one_that_was_changed(curate: Curate) -> None:
    saved = memory("red lamp")
    curate.restore([saved])
    curate.edit(Edit(id=saved.id, status="hidden"))

    curate.restore([saved])

    assert curate.get(saved.id).status == "active"


def test_a_restored_memory_is_encoded_again_where_it_stands(curate: Curate, recall: Recall) -> None:
    there = memory("A lamp")
    [right] = recall.vectors([there])
    recall.store.put([(there, right._replace(dense=recall.encode(["something else"])[0]))])

    curate.restore([there])

    assert recall.store.dense_of([there.id])[there.id] == pytest.approx(right.dense)


def test_more_memories_than_fit_one_batch_are_all_written(store: Store, curate: Curate) -> None:
    ids = curate.add([pair(f"lamp number{number}") for number in range(450)])

    assert len(set(ids)) == 450
    assert store.count(Where()) == {"poem": 450}


def test_an_edited_memory_keeps_its_id_and_is_found_by_its_new_words(
    store: Store, curate: Curate, recall: Recall
) -> None:
    one, other = curate.add([pair("red lamp"), pair("old shoe")])

    edited = curate.edit(Edit(id=one, prompt="green boat"))

    assert edited == EditedMemory(**dict(curate.get(one)))
    assert (edited.id, edited.prompt, edited.answer) == (one, "green boat", "Yes.")
    (best, _) = found(recall, "green boat", 3, "dense")
    assert (best.memory.id, best.similarity) == (one, pytest.approx(1))
    assert found(recall, "red lamp", 3, "dense")[0].similarity < 0.5
    assert curate.get(other).prompt == "old shoe"
    assert store.count(Where()) == {"poem": 2}


def test_an_edited_answer_is_found_by_its_new_words(curate: Curate, recall: Recall) -> None:
    one, _ = curate.add([pair("以秋夜为题", "月落寒江静"), pair("以冬夜为题", "山中雪未消")])

    curate.edit(Edit(id=one, answer="渔灯依浅渚"))

    assert found(recall, "渔灯", 1, "hybrid")[0].memory.id == one


def test_a_hidden_memory_is_not_found_and_still_there(curate: Curate, recall: Recall) -> None:
    (one,) = curate.add([pair("red lamp")])

    curate.edit(Edit(id=one, status="hidden"))
    assert found(recall, "red lamp", 3, "dense") == []
    assert curate.get(one).status == "hidden"

    curate.edit(Edit(id=one, status="active"))
    assert len(found(recall, "red lamp", 3, "dense")) == 1


def test_an_unknown_memory_can_be_neither_read_nor_edited(store: Store, curate: Curate) -> None:
    unknown = uuid4()

    with pytest.raises(BadInput, match=f"No memory has the id '{unknown}'"):
        curate.get(unknown)
    with pytest.raises(BadInput, match=f"No memory has the id '{unknown}'"):
        curate.edit(Edit(id=unknown, answer="No."))

    assert store.count(Where()) == {}


def test_the_mean_of_the_seeds_follows_what_is_added_and_forgotten(
    curate: Curate, pool: Pool, redis_client: redis.Redis
) -> None:
    assert seeds_mean(redis_client, "poem") is None

    _, other = curate.add([pair("red lamp", score=60), pair("old shoe", score=90)])
    assert seeds_mean(redis_client, "poem") == 75

    curate.add([pair("green boat", score=30), pair("plan", pool="plan", score=50)])
    assert seeds_mean(redis_client, "poem") == 60

    Forgetting(pool, redis_client).forget(Forget(ids=(other,)))
    assert seeds_mean(redis_client, "poem") == 45

    Forgetting(pool, redis_client).forget(Forget(submitter="anonymous"))
    assert seeds_mean(redis_client, "poem") is None
    assert seeds_mean(redis_client, "plan") is None


def test_a_memory_of_a_task_or_without_a_score_is_no_seed(curate: Curate, redis_client: redis.Redis) -> None:
    curate.add([pair("red lamp", score=60), pair("green boat")])

    curate.restore([memory("old shoe", score=90, task_id="task-1")])

    assert seeds_mean(redis_client, "poem") == 60


def test_adding_nothing_is_no_error(curate: Curate) -> None:
    assert curate.add([]) == []
    assert curate.restore([]) == []


def test_what_is_rewritten_keeps_its_history_and_has_to_prove_itself_anew(
    curate: Curate, redis_client: redis.Redis
) -> None:
    [one, other] = curate.add([NewMemory(pool="poem", answer=text) for text in ("It opens at 9.", "It opens at 10.")])
    ranking = CredibilityRanking(redis_client)
    credit = [Credit(one, in_general(curate.get(one)), 1.0)]
    ranking.arms.add("poem", "task", credit)
    ranking.conflicts.judge("poem", one, other, "contradict")
    curate.edit(Edit(id=one, status="hidden"))
    assert curate.judge([one])[0][1].credits == 1, "a change of status changes nothing else"

    changed = curate.edit(Edit(id=one, answer="It opens at 8.", status="active"))

    assert [(revision.prompt, revision.answer) for revision in changed.history] == [(None, "It opens at 9.")]
    [(memory, credibility, rivals)] = curate.judge([one])
    assert (memory.answer, credibility.p, credibility.credits, rivals) == ("It opens at 8.", pytest.approx(1), 0, {})


def test_what_is_forgotten_leaves_no_credit_and_no_conflict(
    curate: Curate, pool: Pool, redis_client: redis.Redis
) -> None:
    [one, other] = curate.add([NewMemory(pool="poem", answer=text) for text in ("It opens at 9.", "It opens at 10.")])
    ranking = CredibilityRanking(redis_client)
    ranking.arms.add("poem", "task", [Credit(one, in_general(curate.get(one)), 1.0)])
    ranking.conflicts.judge("poem", one, other, "contradict")
    assert curate.conflicts("poem")

    Forgetting(pool, redis_client).forget(Forget(ids=(one,)))

    assert curate.conflicts("poem") == []
    assert ranking.arms.of("poem", [one])[0].credits == 0


def test_many_are_encoded_in_one_call_and_before_the_gate(store: Store, redis_client: redis.Redis) -> None:
    calls: list[tuple[int, int]] = []

    class Watched(WordEncoder):
        def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
            calls.append((len(texts), redis_client.zcard(WRITERS)))
            return super().encode(texts)

    recall = Recall(store, encoder := Watched(), Retriever(redis_client, encoder))
    curate = Curate(Pool(redis_client, recall, lambda _: recall), redis_client)

    added = curate.add([pair(f"lamp number{number}") for number in range(BATCH + 50)])

    assert calls == [(BATCH, 0), (50, 0)]
    assert store.count(Where()) == {"poem": len(set(added))} == {"poem": BATCH + 50}


def test_what_was_encoded_when_the_pool_moved_on_is_encoded_again(
    recall: Recall, redis_client: redis.Redis, tmp_path: Path
) -> None:
    other = WordEncoder("tests/others")
    with closing(EdgeStore.open(tmp_path / "others", Layout(other.name, other.dimension), "a test")) as others:
        moved = Recall(others, other, Retriever(redis_client, other))
        pool = Pool(redis_client, recall, lambda _: moved)
        assert pool() is recall

        class MovingOn(Pool):
            """The swap happens after the memories were encoded, right before the gate."""

            def writing(self, alone_in: str | None = None) -> AbstractContextManager[Recall]:
                redis_client.set(ENCODER, other.name)
                return super().writing(alone_in)

        curate = Curate(MovingOn(redis_client, recall, lambda _: moved), redis_client)
        [one] = curate.add([pair("red lamp")])

        assert recall.store.count(Where()) == {}
        [hit] = search_one(others, Where(ids=[one]), 1, dense=other.encode(["red lamp"])[0])
        assert hit.similarity == pytest.approx(1)
        assert other.encoded.count("red lamp") == 2, "once by the pool and once by this test"


def test_seeds_of_an_import_that_was_killed_are_noted_when_it_is_done_again(
    curate: Curate, recall: Recall, redis_client: redis.Redis
) -> None:
    curate.add([pair("red lamp", score=60)])
    others = [memory("old shoe", score=90), memory("green boat", score=30, answer="No.")]
    recall.store.put(list(zip(others, recall.vectors(others), strict=True)))  # and then the worker was killed

    curate.add([pair("old shoe", score=90)])
    assert seeds_mean(redis_client, "poem") == 75
    curate.restore(others)

    assert seeds_mean(redis_client, "poem") == 60


@pytest.mark.parametrize("field", ["prompt", "answer"])
def test_what_is_too_long_to_be_shown_is_neither_added_nor_edited_in(
    pool: Pool, redis_client: redis.Redis, store: Store, field: str
) -> None:
    curate = Curate(pool, redis_client, text_limit=20)
    [there] = curate.add([pair("red lamp")])

    with pytest.raises(BadInput, match=f"The {field} has 21 characters; at most 20 .*MEMSHARE_PROMPT_LIMIT"):
        curate.add([pair("old shoe"), NewMemory.model_validate(pair("hat").model_dump() | {field: "x" * 21})])
    with pytest.raises(BadInput, match=f"The {field} has 21 characters"):
        curate.edit(Edit.model_validate({"id": there, field: "x" * 21}))

    assert store.count(Where()) == {"poem": 1}
    assert curate.get(there).key == "red lamp"


def test_a_memory_that_is_too_long_already_can_be_restored_and_hidden(pool: Pool, redis_client: redis.Redis) -> None:
    curate, long = Curate(pool, redis_client, text_limit=20), memory("x" * 30)

    curate.restore([long])

    assert curate.edit(Edit(id=long.id, status="hidden")).status == "hidden"
