"""What the memory service is asked, and what it answers, at its real door."""

from __future__ import annotations

import json
from uuid import uuid4

import pytest
import redis
from opentelemetry.trace import SpanKind

from memshare_broker.errors import BadInput
from memshare_broker.observe import tracing
from memshare_broker.presence import AgentCard, Presence, announce
from memshare_memory.curate.requests import Edit, EditedMemory, Forget, NewMemory, RestoreForgotten, TrashRequest
from memshare_memory.door.client import BATCH, MemoryClient
from memshare_memory.door.messages import RecallRequest, SearchRequest
from memshare_memory.memory import Memory
from memshare_memory.recall.recall import Recall
from memshare_memory.stores.store import Where
from tests.support.deployment import wait_for
from tests.support.memories import remembered
from tests.support.traced import named, traced
from tests.support.word_encoder import WordEncoder


def remember(recall: Recall, *prompts: str, **fields: object) -> list[Memory]:
    memories = [remembered(prompt, pool="poem")[0].model_copy(update=fields) for prompt in prompts]
    recall.store.put(list(zip(memories, recall.vectors(memories), strict=True)))
    return memories


def test_the_memories_nearest_to_a_task_are_recalled_best_first(
    recall: Recall, memory: MemoryClient, encoder: WordEncoder
) -> None:
    near, far = remember(recall, "old lamp by the sea", "old shoe")

    recalled = memory.recall(RecallRequest(pool="poem", text="new lamp by the sea", k=3))

    assert [one.memory for one in recalled.found] == [near, far]
    assert [one.similarity for one in recalled.found] == pytest.approx([0.8, 0.0], abs=1e-4)
    assert recalled.retriever_version == 0
    assert recalled.embedding.unpack() == pytest.approx(encoder.encode(["new lamp by the sea"])[0])


def test_a_recall_is_traced_with_what_it_found_and_goes_on_in_the_memory_service(
    recall: Recall, memory: MemoryClient, encoder: WordEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    [near] = remember(recall, "old lamp by the sea")

    with traced(monkeypatch) as spans, tracing.stage("lamp-1", "answer poem", {}, {}):
        memory.recall(RecallRequest(pool="poem", text="new lamp by the sea", k=3))
        wait_for(lambda: len(spans.get_finished_spans()) == 2, 10, "the span of the memory service")

    retrieval, embeddings = named(spans, "retrieval poem"), named(spans, f"embeddings {encoder.name}")
    assert retrieval.kind is embeddings.kind is SpanKind.CLIENT
    told = dict(retrieval.attributes or {})
    [document] = json.loads(str(told.pop("gen_ai.retrieval.documents")))
    assert document == {"id": str(near.id), "score": pytest.approx(0.8, abs=1e-4)}
    assert told == {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.data_source.id": "poem",
        "gen_ai.retrieval.top_k": 3,
    }
    assert embeddings.parent is not None
    assert retrieval.context is not None
    assert embeddings.parent.span_id == retrieval.context.span_id
    assert dict(embeddings.attributes or {}) == {
        "gen_ai.operation.name": "embeddings",
        "gen_ai.provider.name": "memshare",
        "gen_ai.request.model": encoder.name,
        "gen_ai.embeddings.dimension.count": encoder.dimension,
    }


def test_what_is_not_to_be_shown_is_not(recall: Recall, memory: MemoryClient) -> None:
    first, second = remember(recall, "red lamp", "blue lamp")

    recalled = memory.recall(RecallRequest(pool="poem", text="lamp", k=3, among=Where(ids_not=(first.id,))))

    assert [one.memory.id for one in recalled.found] == [second.id]


def test_a_search_finds_what_is_meant_whatever_has_become_of_it(recall: Recall, memory: MemoryClient) -> None:
    [hidden] = remember(recall, "red lamp", status="hidden")

    assert memory.recall(RecallRequest(pool="poem", text="red lamp", k=3)).found == ()
    [found] = memory.search(SearchRequest(text="red lamp", k=3, where=Where(pool="poem", status="hidden")))
    assert found.memory == hidden


def test_a_text_is_encoded(memory: MemoryClient, encoder: WordEncoder) -> None:
    assert memory.embed("red lamp").unpack() == pytest.approx(encoder.encode(["red lamp"])[0])


def test_all_memories_come_page_by_page_in_the_order_of_their_ids(recall: Recall, memory: MemoryClient) -> None:
    memories = remember(recall, *(f"lamp {number}" for number in range(450)))

    found = list(memory.every(Where(pool="poem")))

    assert found == sorted(memories, key=lambda one: one.id)
    assert list(memory.every(Where(pool="plan"))) == []
    assert memory.stats().by_pool == {"poem": 450}
    assert memory.stats().total == 450


def test_memories_are_brought_in_changed_and_forgotten(memory: MemoryClient) -> None:
    [known] = memory.add([NewMemory(pool="plan", prompt="When?", answer="On Monday.", new_pool=True)])

    changed = memory.edit(Edit(id=known, answer="On Tuesday."))
    [judged] = memory.judge([known, uuid4()])

    assert (changed.id, changed.answer, [one.answer for one in changed.history]) == (
        known,
        "On Tuesday.",
        ["On Monday."],
    )
    assert (EditedMemory(**dict(judged.memory)), judged.credibility.credits, judged.conflicts) == (changed, 0, ())
    assert memory.get(known) == judged.memory
    assert memory.conflicts("plan") == []
    assert memory.forget(Forget(ids=(known,))) == [known]
    with pytest.raises(BadInput, match=f"No memory has the id '{known}'"):
        memory.get(known)
    assert memory.judge([known]) == []


def test_more_than_one_batch_is_brought_in_in_its_order(memory: MemoryClient) -> None:
    many = [
        NewMemory(pool="plan", prompt=f"Day {number}?", answer=f"Rest {number}.", new_pool=True)
        for number in range(BATCH + 10)
    ]

    ids = memory.add(many)

    assert len(set(ids)) == len(many)
    assert memory.get(ids[-1]).prompt == f"Day {BATCH + 9}?"
    assert memory.stats().total == len(many)


def test_a_pool_that_nobody_has_is_a_slip_of_the_pen_unless_it_is_said_to_be_new(
    recall: Recall, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    remember(recall, "red lamp")
    card = AgentCard(name="plan", kinds=(), pool="plan", model="offline")
    announce(redis_client, Presence(node="one", pid=1, incarnation="a", queues=("plan",), agents=(card,)))
    slip, text = "peom", "red lamp"

    with pytest.raises(BadInput, match=r"No pool is called 'peom'. There are: plan, poem\."):
        memory.recall(RecallRequest(pool=slip, text=text, k=3))
    with pytest.raises(BadInput, match="No pool is called 'peom'"):
        memory.add([NewMemory(pool=slip, prompt=text, answer="Yes.")])

    assert memory.stats().by_pool == {"poem": 1}
    assert memory.recall(RecallRequest(pool=slip, text=text, k=3, new_pool=True)).found == ()
    assert memory.recall(RecallRequest(pool="plan", text=text, k=3)).found == (), "an agent has it"
    memory.add([NewMemory(pool=slip, prompt=text, answer="Yes.", new_pool=True)])
    assert len(memory.recall(RecallRequest(pool=slip, text=text, k=3)).found) == 1


def test_a_slip_is_undone_at_the_door(recall: Recall, memory: MemoryClient) -> None:
    [lamp] = remember(recall, "red lamp")
    which = Forget(ids=(lamp.id,))

    preview = memory.forget_preview(which)
    assert (preview.memories, preview.by_pool, preview.examples) == (1, {"poem": 1}, (lamp,))
    assert memory.stats().total == 1, "a preview takes nothing"

    memory.forget(which)
    assert [one.memory for one in memory.trash(TrashRequest()).forgotten] == [lamp]
    assert memory.restore_forgotten(RestoreForgotten(ids=(lamp.id,))).restored == (lamp.id,)
    assert memory.get(lamp.id) == lamp
    assert memory.purge(which).memories == (lamp.id,)
    assert (memory.stats().total, memory.trash(TrashRequest()).total) == (0, 0)
