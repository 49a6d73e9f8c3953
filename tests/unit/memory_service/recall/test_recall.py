from __future__ import annotations

import numpy as np
import pytest
import redis

from memshare.broker.wire.messages import Embedding
from memshare.memory_service.memory import Memory, folded
from memshare.memory_service.recall.recall import Mode, Recall
from memshare.memory_service.recall.retriever import PublishedAdapter, adapter_key, version_key
from memshare.memory_service.stores.store import Hit
from tests.support.memories import prompts, remembered
from tests.support.word_encoder import WordEncoder


def remember(recall: Recall, *memories: Memory) -> None:
    recall.store.put(list(zip(memories, recall.vectors(list(memories)), strict=True)))


def memory(prompt: str | None, answer: str = "Yes.", **fields: object) -> Memory:
    return remembered(prompt, answer=answer, **fields)[0]


def nearest(recall: Recall, text: str, k: int = 3, mode: Mode = "dense") -> list[Hit]:
    return recall.nearest("poem", text, recall.embed(text).unpack(), k, mode).hits


def test_the_nearest_come_first_and_no_more_than_asked_for(recall: Recall) -> None:
    remember(recall, memory("old shoe"), memory("red lamp by the sea"), memory("red lamp"))

    assert prompts(nearest(recall, "red lamp", k=2)) == ["red lamp", "red lamp by the sea"]
    assert prompts(nearest(recall, "red lamp", k=20)) == ["red lamp", "red lamp by the sea", "old shoe"]


def test_no_memories_are_looked_for_when_none_are_wanted(recall: Recall) -> None:
    remember(recall, memory("red lamp"))

    assert nearest(recall, "red lamp", k=0) == []


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_never_two_with_the_same_prompt(recall: Recall, mode: Mode) -> None:
    remember(
        recall,
        memory("red lamp", "One."),
        memory("Red  LAMP", "Two."),
        memory("red lamp", "Three."),
        memory("red shoe"),
        memory("red hat by the sea"),
    )

    hits = nearest(recall, "red lamp", k=3, mode=mode)

    assert [folded(hit.memory.key) for hit in hits] == ["red lamp", "red shoe", "red hat by the sea"]


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_many_answers_to_one_prompt_do_not_crowd_the_others_out(recall: Recall, mode: Mode) -> None:
    remember(recall, *(memory("red lamp", f"Answer {number}.") for number in range(50)))
    remember(recall, memory("red shoe"), memory("red hat by the sea"))

    hits = nearest(recall, "red lamp", k=3, mode=mode)

    assert prompts(hits) == ["red lamp", "red shoe", "red hat by the sea"]


def test_a_statement_is_found_by_what_it_says(recall: Recall) -> None:
    remember(recall, memory(None, "Lamps are red"), memory("old shoe"))

    assert nearest(recall, "red lamps", k=1)[0].memory.answer == "Lamps are red"


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_many_newcomers_leave_room_for_what_is_trusted(recall: Recall, mode: Mode) -> None:
    remember(recall, *(memory(f"red lamp {number}", status="probation") for number in range(50)))
    remember(recall, memory("red shoe"), memory("red hat by the sea"))

    hits = nearest(recall, "red lamp", k=3, mode=mode)

    assert [hit.memory.status for hit in hits] == ["probation", "active", "active"]


def test_many_memories_of_one_submitter_leave_room_for_those_of_others(recall: Recall, encoder: WordEncoder) -> None:
    remember(recall, *(memory(f"red lamp {number}", submitter="mallory") for number in range(50)))
    remember(recall, memory("red shoe", submitter="ada"))
    fair = Recall(recall.store, encoder, recall._retriever, submitter_share=0.67)

    assert [hit.memory.submitter for hit in nearest(fair, "red lamp", k=3)] == ["mallory", "mallory", "ada"]
    assert [hit.memory.submitter for hit in nearest(fair, "red lamp", k=1)] == ["mallory"]
    assert [hit.memory.submitter for hit in nearest(recall, "red lamp", k=3)] == ["mallory"] * 3


def test_where_there_are_no_others_one_submitter_has_all_places(recall: Recall, encoder: WordEncoder) -> None:
    remember(recall, *(memory(f"red lamp {number}", submitter="ada") for number in range(5)))
    fair = Recall(recall.store, encoder, recall._retriever, submitter_share=0.67)

    assert len(nearest(fair, "red lamp", k=3)) == 3


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_a_hidden_memory_is_not_shown(recall: Recall, mode: Mode) -> None:
    remember(recall, memory("red lamp", status="hidden"), memory("red shoe"))

    assert prompts(nearest(recall, "red lamp", mode=mode)) == ["red shoe"]


def test_a_memory_of_another_pool_is_not_shown(recall: Recall) -> None:
    remember(recall, memory("red lamp", pool="plan"), memory("red shoe"))

    assert prompts(nearest(recall, "red lamp")) == ["red shoe"]


def test_words_that_the_encoder_does_not_know_are_found_by_hybrid_recall(recall: Recall) -> None:
    others = [
        memory(f"以{season}{place}为题") for season in "春夏冬" for place in ("山寺", "荷塘", "边塞", "古城", "田家")
    ]
    remember(recall, *others, memory("以秋夜江边为题"))
    task = "写一首秋夜江边的诗"

    dense, hybrid = nearest(recall, task, mode="dense"), nearest(recall, task, mode="hybrid")

    assert "以秋夜江边为题" in prompts(hybrid)
    assert [hit.similarity for hit in dense] == pytest.approx([1, 1, 1]), "dense cannot tell them apart"


def test_what_the_adapter_has_learnt_turns_the_query(
    recall: Recall, encoder: WordEncoder, redis_client: redis.Redis
) -> None:
    remember(recall, memory("red lamp"), memory("old shoe"))
    before = recall.nearest("poem", "red lamp", recall.embed("red lamp").unpack(), 2, "dense")
    assert (prompts(before.hits), before.retriever_version) == (["red lamp", "old shoe"], 0)

    lamp, shoe = encoder.encode(["red lamp", "old shoe"])
    published = PublishedAdapter.pack(1, encoder.name, 3 * np.outer(shoe, lamp).astype(np.float32))
    redis_client.set(adapter_key("poem", "tests/words", 1), published.model_dump_json())
    redis_client.set(version_key("poem", "tests/words"), 1)
    after = recall.nearest("poem", "red lamp", recall.embed("red lamp").unpack(), 2, "dense")

    assert (prompts(after.hits), after.retriever_version) == (["old shoe", "red lamp"], 1)
    assert after.hits[0].similarity == pytest.approx(3 / np.sqrt(10), abs=1e-3)


def test_the_vector_that_came_with_a_message_is_used_as_it_is(recall: Recall, encoder: WordEncoder) -> None:
    travelled = recall.embed("red lamp")
    encoder.encoded.clear()

    vector = recall.vector(travelled, "red lamp")

    assert vector == pytest.approx(encoder.encode(["red lamp"])[0])
    assert encoder.encoded == ["red lamp"], "encoded by the test alone"


def test_the_vector_of_another_encoder_is_made_anew(recall: Recall, encoder: WordEncoder) -> None:
    foreign = Embedding.pack("tests/other", np.ones(3, dtype=np.float32))

    vector = recall.vector(foreign, "red lamp")

    assert encoder.encoded == ["red lamp"]
    assert vector.shape == (encoder.dimension,)
    assert vector == pytest.approx(encoder.encode(["red lamp"])[0])
