from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

import numpy as np
import pytest
import redis
from numpy.typing import NDArray

from memshare_broker.wire.messages import Embedding
from memshare_memory.belief.trust import Standing, Standings, standings_key
from memshare_memory.belief.writers import Reading, Writers
from memshare_memory.memory import Memory, folded
from memshare_memory.recall.batch import CANDIDATES_RANKED
from memshare_memory.recall.query import RecallRequest
from memshare_memory.recall.recall import Mode, Recall, sparse_of
from memshare_memory.recall.retriever import Adapter, PublishedAdapter, Retriever, adapter_key, version_key
from memshare_memory.stores.store import Hit, Query, Vectors
from tests.support.memories import prompts, remembered
from tests.support.word_encoder import WordEncoder


def remember(recall: Recall, *memories: Memory) -> None:
    recall.store.put(list(zip(memories, recall.vectors(list(memories)), strict=True)))


def memory(prompt: str | None, answer: str = "Yes.", **fields: object) -> Memory:
    return remembered(prompt, answer=answer, **fields)[0]


def searched(recall: Recall, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Has the limit of each search from now on."""
    limits: list[int] = []
    search = recall.store.search

    def noted(queries: Sequence[Query]) -> list[list[Hit]]:
        limits.extend(one.limit for one in queries)
        return search(queries)

    monkeypatch.setattr(recall.store, "search", noted)
    return limits


Publish = Callable[..., None]


@pytest.fixture
def publish(redis_client: redis.Redis, encoder: WordEncoder) -> Publish:
    """Puts a version into use for the pool `poem`, with the worth of submitters and weights."""

    def put(worth: dict[str, float], weights: NDArray[np.float32] | None = None) -> None:
        still = np.zeros((encoder.dimension, encoder.dimension), np.float32)
        version = PublishedAdapter.pack(1, encoder.name, still if weights is None else weights, worth)
        redis_client.set(adapter_key("poem", encoder.name, 1), version.model_dump_json())
        redis_client.set(version_key("poem", encoder.name), 1)

    return put


def nearest(recall: Recall, text: str, k: int = 3, mode: Mode = "dense") -> list[Hit]:
    return recall.nearest("poem", text, recall.embed(text).unpack(), k, mode).hits


def test_the_nearest_come_first_and_no_more_than_asked_for(recall: Recall) -> None:
    remember(recall, memory("old shoe"), memory("red lamp by the sea"), memory("red lamp"))

    assert prompts(nearest(recall, "red lamp", k=2)) == ["red lamp", "red lamp by the sea"]
    assert prompts(nearest(recall, "red lamp", k=20)) == ["red lamp", "red lamp by the sea", "old shoe"]


def test_what_says_the_same_is_no_more_similar_than_1(recall: Recall) -> None:
    words = ["red", "lamp", "old", "shoe", "by", "the", "sea", "in", "a", "house", "of", "one", "friend"]
    texts = [" ".join(words[start:end]) for start in range(12) for end in range(start + 1, 13)]
    remember(recall, *map(memory, texts))

    assert max(nearest(recall, text, k=1)[0].similarity for text in texts) <= 1


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
    remember(recall, *(memory("red lamp", f"Answer {number}.") for number in range(120)))
    remember(recall, memory("red shoe"), memory("red hat by the sea"))

    hits = nearest(recall, "red lamp", k=3, mode=mode)

    assert prompts(hits) == ["red lamp", "red shoe", "red hat by the sea"]


def test_a_statement_is_found_by_what_it_says(recall: Recall) -> None:
    remember(recall, memory(None, "Lamps are red"), memory("old shoe"))

    assert nearest(recall, "red lamps", k=1)[0].memory.answer == "Lamps are red"


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_many_unproven_memories_leave_room_for_proven_ones(
    recall: Recall, monkeypatch: pytest.MonkeyPatch, publish: Publish, mode: Mode
) -> None:
    publish({})
    monkeypatch.setattr(Adapter, "proven", lambda _, memory, *__: memory.submitter != "eve")
    remember(recall, *(memory(f"red lamp {number}", submitter="eve") for number in range(40)))
    remember(recall, memory("red shoe"), memory("red hat by the sea"))

    hits = nearest(recall, "red lamp", k=3, mode=mode)

    assert [hit.memory.submitter for hit in hits].count("eve") == 1
    assert [hit.proven for hit in hits] == [False, True, True]


def test_unproven_memories_are_no_reason_for_another_search(
    recall: Recall, monkeypatch: pytest.MonkeyPatch, publish: Publish
) -> None:
    publish({})
    monkeypatch.setattr(Adapter, "proven", lambda _, memory, *__: memory.submitter != "eve")
    remember(recall, *(memory(f"red lamp {number}", submitter="eve") for number in range(60)))
    remember(recall, memory("red lamp"))
    searches = searched(recall, monkeypatch)

    assert [hit.proven for hit in nearest(recall, "red lamp", k=3)] == [True, False]
    assert searches == [CANDIDATES_RANKED] * 2, "one for what the learner, and one for what the encoder finds near"


def test_many_memories_of_one_submitter_leave_room_for_those_of_others(recall: Recall, encoder: WordEncoder) -> None:
    remember(recall, *(memory(f"red lamp {number}", submitter="mallory") for number in range(120)))
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


def test_what_the_adapter_has_learnt_turns_questions_and_memories(
    recall: Recall, encoder: WordEncoder, publish: Publish
) -> None:
    remember(recall, memory("red light"), memory("old shoe"))
    before = recall.nearest("poem", "red lamp", recall.embed("red lamp").unpack(), 2, "dense")
    assert (prompts(before.hits), before.retriever_version) == (["red light", "old shoe"], 0)

    lamp, shoe = encoder.encode(["red lamp", "old shoe"])
    publish({}, 3 * np.outer(shoe, lamp).astype(np.float32))
    after = recall.nearest("poem", "red lamp", recall.embed("red lamp").unpack(), 2, "dense")

    assert (prompts(after.hits), after.retriever_version) == (["old shoe", "red light"], 1)
    assert after.hits[0].score == pytest.approx(3 / np.sqrt(10), abs=1e-3)
    assert after.hits[0].similarity == pytest.approx(0), "as it was before, for what counts by likeness alone"


def test_a_learner_ranks_far_more_than_are_shown_and_by_whose_they_are(recall: Recall, publish: Publish) -> None:
    remember(recall, *(memory(f"red lamp {number}", submitter="eve") for number in range(CANDIDATES_RANKED - 1)))
    remember(recall, memory("red hat by the sea", submitter="ada"))
    assert prompts(nearest(recall, "red lamp", k=3)).count("red hat by the sea") == 0

    publish({"ada": 0.55})
    first, second = nearest(recall, "red lamp", k=2)
    assert (first.memory.submitter, second.memory.submitter) == ("ada", "eve"), "it was the last of the fifty"
    assert first.score == pytest.approx(first.similarity + 0.55)


def test_what_is_near_is_found_beside_what_the_learner_makes_long(
    recall: Recall, encoder: WordEncoder, publish: Publish
) -> None:
    remember(recall, memory("red lamp"))
    remember(recall, *(memory("red" + " red" * number) for number in range(CANDIDATES_RANKED + 5)))
    red, shoe = encoder.encode(["red", "shoe"])
    publish({}, 3 * np.outer(shoe, red).astype(np.float32))

    assert prompts(nearest(recall, "red lamp", k=1)) == ["red lamp"]
    asked = memory("the red lamp")
    found = prompts(recall.candidates(asked, encoder.encode(["the red lamp"])[0]))
    assert "red lamp" in found[:-1], "a lesson can learn of it, too"


def test_in_hybrid_mode_the_learner_counts_as_much_as_the_search(recall: Recall, publish: Publish) -> None:
    remember(recall, memory("red lamp", submitter="eve"), memory("red lamp shade", submitter="ada"), memory("old shoe"))

    publish({"ada": 0.9, "eve": -0.9})
    hits = nearest(recall, "red lamp", k=3, mode="hybrid")

    # Of three: the search has eve's first and ada's second, the learner ada's first and eve's last.
    assert [hit.memory.submitter for hit in hits][:2] == ["ada", "eve"]


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_in_an_empty_pool_a_learner_finds_nothing(recall: Recall, publish: Publish, mode: Mode) -> None:
    publish({"ada": 0.1})

    assert nearest(recall, "red lamp", mode=mode) == []


def test_a_memory_that_goes_between_the_search_and_the_ranking_is_not_shown(
    recall: Recall, publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(recall, memory("red lamp"), memory("red shoe"))
    publish({})
    both_of = recall.store.both_of

    def meanwhile(ids: list[UUID]) -> Mapping[UUID, NDArray[np.float32]]:
        recall.store.delete([memory("red lamp").id])
        return both_of(ids)

    monkeypatch.setattr(recall.store, "both_of", meanwhile)

    assert prompts(nearest(recall, "red lamp")) == ["red shoe"]


def test_where_nothing_is_proven_what_there_is_is_shown_and_beside_proven_ones_a_single_one(recall: Recall) -> None:
    remember(recall, *(memory(f"red lamp {number}", submitter="eve", task_id=f"{number}") for number in range(3)))
    assert [hit.proven for hit in nearest(recall, "red lamp", k=3)] == [False] * 3

    remember(recall, memory("red hat by the sea"), memory("red coat by the sea"))
    assert [hit.proven for hit in nearest(recall, "red lamp", k=3)] == [False, True, True]


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_before_anything_was_learnt_unproven_memories_leave_room_for_proven_ones(recall: Recall, mode: Mode) -> None:
    unproven = [memory(f"red lamp {place}", submitter=f"eve {place % 4}", task_id=f"{place}") for place in range(30)]
    remember(recall, *unproven, memory("red shoe"), memory("red hat by the sea"))

    hits = nearest(recall, "red lamp", k=3, mode=mode)

    assert [hit.proven for hit in hits] == [False, True, True]


def test_proven_memories_take_one_search(recall: Recall, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(recall, *(memory(f"red lamp {number}") for number in range(30)))
    limits = searched(recall, monkeypatch)

    nearest(recall, "red lamp", k=3)

    assert limits == [CANDIDATES_RANKED]


def test_no_unproven_memory_has_the_place_of_a_proven_one_with_the_same_prompt(recall: Recall) -> None:
    remember(recall, memory("red lamp", "Wrong.", submitter="eve", task_id="task"), memory("Red  lamp", "Right."))

    assert [hit.memory.answer for hit in nearest(recall, "red lamp")] == ["Right."]


def asked_of(recall: Recall, text: str, reader: str | None = None) -> list[str | None]:
    """What is recalled as at the door, with the masked text."""
    rows = recall.begin(text, "ada", masking=True).result()
    wanted = RecallRequest(pool="poem", text=text, k=3, reader=reader)
    return prompts(recall.nearest_each([(wanted, rows)])[0].hits)


def test_what_asks_the_same_of_somebody_else_comes_before_what_asks_another_thing_of_them(recall: Recall) -> None:
    same, other = "which books by Kenji are lent", "who lent Ada Lovelace two red lamps by the old sea"
    asked = "which books by Ada Lovelace are lent"
    remember(recall, memory(other), memory(same))
    plain = {hit.memory.prompt: hit.similarity for hit in nearest(recall, asked)}

    assert asked_of(recall, asked) == [same, other]
    hits = recall.nearest("poem", asked, *recall.encode([asked]), 3).hits
    assert plain == {hit.memory.prompt: hit.similarity for hit in hits}, "similarity is that of the whole texts"


def test_a_statement_is_not_masked(recall: Recall) -> None:
    pair, statement = memory("Where is Arles?"), memory(None, "It is in France.")
    remember(recall, pair, statement)

    both = recall.store.both_of([pair.id, statement.id])

    assert not (both[pair.id][0] == both[pair.id][1]).all()
    assert (both[statement.id][0] == both[statement.id][1]).all()


def test_what_is_written_again_without_its_masked_vector_keeps_it(recall: Recall) -> None:
    lamp = memory("Where is Arles?")
    remember(recall, lamp)
    before = recall.store.both_of([lamp.id])[lamp.id]

    recall.store.put([(lamp, Vectors(before[0], sparse_of(lamp)))], in_place=True)
    assert (recall.store.both_of([lamp.id])[lamp.id] == before).all()

    recall.store.put([(lamp, Vectors(before[0], sparse_of(lamp), before[0]))])
    assert (recall.store.both_of([lamp.id])[lamp.id][1] == before[0]).all()


def test_whose_answers_help_the_reader_come_first(
    recall: Recall, encoder: WordEncoder, redis_client: redis.Redis
) -> None:
    writers = Writers(redis_client)
    for number in range(20):
        writers.count(Reading("poem", "small"), f"{number}", "small", 20.0)
        writers.count(Reading("poem", "small"), f"large {number}", "large", -20.0)
    learning = Recall(recall.store, encoder, Retriever(redis_client, encoder), writers=writers)
    remember(recall, memory("red lamp by sea", model="large"), memory("red lamp by land", model="small"))

    assert asked_of(learning, "red lamp by", reader="small")[0] == "red lamp by land"
    assert asked_of(learning, "red lamp by sea", reader="large")[0] == "red lamp by sea"


NFC, NFD = "Where is N\u00eemes \u00e0 caf\u00e9?", "Where is Ni\u0302mes a\u0300 cafe\u0301?"


@pytest.mark.parametrize("asked", [NFC, NFD, NFC + "\u200b", "\ufeff" + NFC, NFC.replace(" ", "\u00a0"), NFC.upper()])
def test_ones_own_answer_to_the_same_task_in_another_spelling_is_no_example_for_it(recall: Recall, asked: str) -> None:
    own = [memory(NFC, "South.", submitter="ada", task_id="1"), memory(NFD, "By Arles.", submitter="ada", task_id="2")]
    remember(recall, *own, memory("Where is Arles?", submitter="ada", task_id="3"))

    def shown(submitter: str) -> list[str | None]:
        wanted = RecallRequest(pool="poem", text=asked, k=3, submitter=submitter)
        return prompts(recall.nearest_each([(wanted, recall.encode([asked]))])[0].hits)

    assert shown("ada") == ["Where is Arles?"]
    assert len(shown("ben")) == 2, "others are shown one of them"


def test_many_own_answers_to_the_same_task_leave_room_for_other_memories(
    recall: Recall, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(recall, *(memory("red lamp", f"Mine {one}.", submitter="ada", task_id=f"{one}") for one in range(60)))
    remember(recall, memory("red shoe", submitter="ben"))
    limits = searched(recall, monkeypatch)
    wanted = RecallRequest(pool="poem", text="red lamp", k=3, submitter="ada")

    assert prompts(recall.nearest_each([(wanted, recall.encode(["red lamp"]))])[0].hits) == ["red shoe"]
    assert limits == [CANDIDATES_RANKED, 2 * CANDIDATES_RANKED]


def test_recalls_of_one_batch_are_searched_together_in_every_round(
    recall: Recall, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(
        recall, *(memory("red lamp", f"Answer {one}.") for one in range(60)), memory("red shoe"), memory("old hat")
    )
    sizes: list[int] = []
    search = recall.store.search

    def noted(queries: Sequence[Query]) -> list[list[Hit]]:
        sizes.append(len(queries))
        return search(queries)

    monkeypatch.setattr(recall.store, "search", noted)
    wanted = {"red lamp": 2, "old hat": 1, "red lamp by the sea": 2, "nothing wanted": 0}
    asked = [(RecallRequest(pool="poem", text=text, k=k), recall.encode([text])) for text, k in wanted.items()]

    batched = [prompts(one.hits) for one in recall.nearest_each(asked)]

    assert sizes == [3, 2]
    assert batched == [["red lamp", "red shoe"], ["old hat"], ["red lamp", "red shoe"], []]
    assert batched == [prompts(recall.nearest_each([one])[0].hits) for one in asked]


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
@pytest.mark.parametrize("learnt", [False, True])
def test_no_unproven_look_alike_has_the_place_of_a_proven_memory(
    recall: Recall, publish: Publish, mode: Mode, learnt: bool
) -> None:
    if learnt:
        publish({})
    remember(recall, memory("red lamp!", "Wrong.", submitter="eve", task_id="1"), memory("red lamp", "Right."))
    remember(recall, memory("lamp red", "Also.", submitter="eve", task_id="2"))

    assert {hit.memory.answer for hit in nearest(recall, "red lamp", mode=mode)} == {"Right.", "Also."}


def test_prompts_with_the_same_letters_that_mean_something_else_are_no_look_alikes(recall: Recall) -> None:
    remember(recall, memory("now here lamp"), memory("no where lamp", "No.", submitter="eve", task_id="1"))

    assert len(nearest(recall, "lamp")) == 2


def test_a_pool_whose_submitters_are_not_proven_yet_takes_nothing_from_another(
    recall: Recall, redis_client: redis.Redis
) -> None:
    known = Standings(submitters={"eve": Standing(worth=0, error=0.1, words=9, proven=True)})
    redis_client.set(standings_key("plan", "tests/words"), known.model_dump_json())
    remember(recall, memory("red lamp", submitter="eve", task_id="task"))

    assert [hit.proven for hit in nearest(recall, "red lamp")] == [False]


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


def from_pools(recall: Recall, text: str, *pools: str, k: int = 3) -> list[tuple[str, str | None]]:
    first, *beside = pools
    asked = RecallRequest(pool=first, beside=tuple(beside), text=text, k=k)
    [found] = recall.nearest_each([(asked, recall.encode([text]))])
    return [(hit.memory.pool, hit.memory.prompt) for hit in found.hits]


def test_memories_of_several_pools_are_ranked_together_and_of_no_other_one(recall: Recall) -> None:
    remember(
        recall,
        memory("red lamp by the sea", pool="mine/ada"),
        memory("red lamp", pool="team"),
        memory("red shoe by the lamp", pool="shared"),
        memory("red lamp", pool="mine/bob"),
    )

    found = from_pools(recall, "red lamp", "mine/ada", "team", "shared")

    assert found == [("team", "red lamp"), ("mine/ada", "red lamp by the sea"), ("shared", "red shoe by the lamp")]
    assert from_pools(recall, "red lamp", "mine/bob", "shared", k=1) == [("mine/bob", "red lamp")]
    assert [pool for pool, _ in from_pools(recall, "red lamp", "shared", "nowhere")] == ["shared"]


def test_of_two_pools_with_the_same_prompt_one_is_shown_and_the_place_is_filled(recall: Recall) -> None:
    remember(
        recall, memory("red lamp", pool="mine/ada"), memory("red lamp", pool="team"), memory("old shoe", pool="team")
    )

    assert len(from_pools(recall, "red lamp", "mine/ada", "team")) == 2


def test_recalls_of_one_pool_and_of_several_come_in_the_order_in_which_they_were_asked(recall: Recall) -> None:
    remember(recall, memory("red lamp", pool="team"), memory("red shoe", pool="mine/ada"))
    asked = [
        RecallRequest(pool="team", text="red", k=3),
        RecallRequest(pool="mine/ada", beside=("team",), text="red", k=3),
        RecallRequest(pool="mine/ada", text="red", k=3),
    ]

    found = recall.nearest_each([(one, recall.encode(["red"])) for one in asked])

    assert [len(one.hits) for one in found] == [1, 2, 1]


def test_in_a_pool_of_ones_own_nobody_is_unproven(recall: Recall) -> None:
    remember(recall, memory("red lamp", pool="mine/ada", task_id="t1"), memory("red shoe", pool="team", task_id="t2"))
    asked = RecallRequest(pool="mine/ada", beside=("team",), text="red", k=3)

    [found] = recall.nearest_each([(asked, recall.encode(["red"]))])

    assert {hit.memory.pool: hit.proven for hit in found.hits} == {"mine/ada": True, "team": False}


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_the_nearest_is_the_same_however_many_are_wanted(recall: Recall, publish: Publish, mode: Mode) -> None:
    """What the learner ranks behind all that are looked at for a few, it has not made less near."""
    remember(recall, *(memory(f"red hat {number}", submitter="ada") for number in range(20)))
    remember(recall, memory("red lamp by the sea", submitter="eve"))
    publish({"ada": 0.9})
    vector = recall.embed("red lamp").unpack()

    few, many = (recall.nearest("poem", "red lamp", vector, k, mode) for k in (1, 20))

    assert "red lamp by the sea" not in prompts(few.hits)
    assert prompts([one.nearest for one in (few, many) if one.nearest]) == ["red lamp by the sea"] * 2
