"""What every store finds, and in what order."""

from __future__ import annotations

import math
from uuid import uuid4

import numpy as np
import pytest

from memshare_memory.stores import bm25
from memshare_memory.stores.store import Query, Store, Where, search_one
from tests.support.memories import at, prompts, remembered


def test_the_nearest_comes_first_with_its_cosine(store: Store) -> None:
    store.put([remembered(f"at {angle}", angle) for angle in (80, 10, 45, 180)])

    hits = search_one(store, Where(), 3, dense=3 * at(0))

    assert prompts(hits) == ["at 10", "at 45", "at 80"]
    assert [hit.similarity for hit in hits] == pytest.approx(
        [math.cos(math.radians(angle)) for angle in (10, 45, 80)], abs=1e-5
    )
    assert [hit.score for hit in hits] == [hit.similarity for hit in hits]


def test_no_cosine_is_above_1(store: Store) -> None:
    angles = range(0, 180, 3)
    store.put([remembered(f"at {angle}", angle) for angle in angles])

    for angle in angles:
        [dense] = search_one(store, Where(), 1, dense=7 * at(angle))
        [fused] = search_one(store, Where(), 1, dense=7 * at(angle), sparse=bm25.query("at"))
        assert max(dense.similarity, fused.similarity) <= 1


def test_bm25_alone_ranks_by_its_formula(store: Store) -> None:
    corpus = [remembered(text, 7 * i) for i, text in enumerate(["moon moon", "moon tide", "tide sand", "rock"])]
    store.put(corpus)

    hits = search_one(store, Where(), 9, sparse=bm25.query("moon sand"))

    idf = {word: math.log(1 + (4 - df + 0.5) / (df + 0.5)) for word, df in {"moon": 2, "sand": 1}.items()}
    [moon], [sand] = bm25.query("moon").indices, bm25.query("sand").indices
    weights = [dict(zip(*vectors.sparse, strict=True)) for _, vectors in corpus]
    assert prompts(hits) == ["tide sand", "moon moon", "moon tide"]
    assert [hit.score for hit in hits] == pytest.approx(
        [weights[2][sand] * idf["sand"], weights[0][moon] * idf["moon"], weights[1][moon] * idf["moon"]],
        rel=1e-4,
    )
    assert {hit.similarity for hit in hits} == {0}


@pytest.mark.parametrize(("text", "query"), [("春眠不觉晓", "春眠"), ("the zyzzyva song", "a Zyzzyva?")])
def test_hybrid_finds_what_the_dense_vector_misses(store: Store, text: str, query: str) -> None:
    store.put([remembered(f"memory {i}", 3 * i) for i in range(30)])
    store.put([remembered(text, 150)])

    assert text not in prompts(search_one(store, Where(), 3, dense=at(0)))
    hits = search_one(store, Where(), 3, dense=at(0), sparse=bm25.query(query))

    assert prompts(hits) == [text, "memory 0", "memory 1"]
    assert [hit.similarity for hit in hits] == pytest.approx(
        [math.cos(math.radians(angle)) for angle in (150, 0, 3)], abs=1e-5
    )


def test_hybrid_orders_by_reciprocal_rank_the_same_in_every_store(store: Store) -> None:
    texts = ["tide " * (i % 5) + "rock " * (i % 7) + "sand " * i for i in range(40)]
    store.put([remembered(text, 4.3 * (i * 11 % 40)) for i, text in enumerate(texts)])
    query = bm25.query("tide rock")

    dense, sparse = search_one(store, Where(), 50, dense=at(0)), search_one(store, Where(), 50, sparse=query)
    fused = search_one(store, Where(), 12, dense=at(0), sparse=query)

    similarity = {hit.memory.id: hit.similarity for hit in dense}
    score = dict.fromkeys(similarity, 0.0)
    for ranking in (dense, sparse):
        for rank, hit in enumerate(ranking):
            score[hit.memory.id] += 1 / (60 + rank)
    expected = sorted(score, key=lambda one: (-score[one], -similarity[one], one))[:12]
    assert len({hit.score for hit in sparse}) == len(sparse) > 20, "equal scores would leave the ranks open"
    assert [hit.memory.id for hit in fused] == expected
    assert [hit.score for hit in fused] == pytest.approx([score[one] for one in expected], rel=1e-5)
    assert expected != [hit.memory.id for hit in dense[:12]]


def test_equally_good_memories_come_by_similarity_then_by_id(store: Store) -> None:
    store.put([remembered("sand tide", 10), remembered("tide tide", 40)])
    store.put([remembered(f"memory {i}", 80) for i in range(6)])

    fused = search_one(store, Where(), 2, dense=at(0), sparse=bm25.query("tide"))
    equal = search_one(store, Where(), 8, dense=at(80))[:6]

    assert fused[0].score == fused[1].score
    assert prompts(fused) == ["sand tide", "tide tide"]
    assert [hit.memory.id for hit in equal] == sorted(hit.memory.id for hit in equal)


def test_a_text_without_words_is_stored_and_searched_by_its_dense_vector(store: Store) -> None:
    store.put([remembered("?!", 10, answer="…"), remembered("moon", 50)])

    assert prompts(search_one(store, Where(), 3, dense=at(0), sparse=bm25.query("!!"))) == ["?!", "moon"]
    assert search_one(store, Where(), 3, sparse=bm25.query("!!")) == []


def test_submitters_can_be_left_out_and_several_statuses_be_meant(store: Store) -> None:
    for number, (submitter, status) in enumerate(
        [("ada", "active"), ("eve", "active"), ("ada", "stale"), ("bob", "hidden")]
    ):
        store.put([remembered(f"{submitter} {status}", 5 * number, submitter=submitter, status=status)])

    def found(where: Where) -> set[str | None]:
        return set(prompts(search_one(store, where, 9, dense=at(0))))

    assert found(Where(submitter_not=["eve", "bob"])) == {"ada active", "ada stale"}
    assert found(Where(status=("active", "stale"))) == {"ada active", "eve active", "ada stale"}
    assert found(Where(status="active", submitter_not=["ada"])) == {"eve active"}


def test_several_searches_at_once_find_what_each_finds_alone(store: Store) -> None:
    store.put([remembered(f"tide {i}", 9 * i, pool=f"pool-{i % 2}") for i in range(10)] + [remembered("moon", 170)])
    queries = [
        Query(Where(pool="pool-1"), 3, dense=at(0)),
        Query(Where(), 2, dense=at(0), sparse=bm25.query("moon")),
        Query(Where(pool="poem"), 5, sparse=bm25.query("moon")),
        Query(Where(pool="nobody's"), 5, dense=at(0)),
    ]

    together = store.search(queries)

    alone = [search_one(store, one.where, one.limit, one.dense, one.sparse) for one in queries]
    assert [prompts(hits) for hits in together] == [prompts(hits) for hits in alone]
    assert [prompts(hits) for hits in together] == [["tide 1", "tide 3", "tide 5"], ["moon", "tide 0"], ["moon"], []]
    assert [[hit.similarity for hit in hits] for hits in together] == [
        pytest.approx([hit.similarity for hit in hits]) for hits in alone
    ]
    assert store.search([]) == []


def test_dense_vectors_are_had_by_id(store: Store) -> None:
    items = [remembered("tide", 20), remembered("moon", 170)]
    store.put(items)
    tide, moon = (memory.id for memory, _ in items)

    found = store.dense_of([moon, uuid4(), tide])

    assert found.keys() == {tide, moon}
    assert found[tide] == pytest.approx(at(20), abs=1e-6)
    assert found[moon] == pytest.approx(at(170), abs=1e-6)
    assert store.dense_of([]) == {}


def test_the_vectors_of_masked_texts_stay_with_a_memory_that_is_written_again(store: Store) -> None:
    (tide, given), (moon, plain) = remembered("tide", 20), remembered("moon", 170)
    store.put([(tide, given._replace(masked=at(40))), (moon, plain._replace(masked=plain.dense))])
    store.put([(tide, given), (moon, plain)], in_place=True)

    found = store.both_of([moon.id, uuid4(), tide.id])

    assert found.keys() == {tide.id, moon.id}
    assert found[tide.id] == pytest.approx(np.stack([at(20), at(40)]), abs=1e-3)
    assert found[moon.id] == pytest.approx(np.stack([at(170), at(170)]), abs=1e-3)
    assert store.both_of([]) == {}


def test_hits_below_the_lowest_score_are_left_out(store: Store) -> None:
    store.put([remembered("near", 10), remembered("far", 60)])

    for lowest, found in ((None, ["near", "far"]), (0.9, ["near"]), (0.999, [])):
        [hits] = store.search([Query(Where(), 5, at(0), at_least=lowest)])
        assert prompts(hits) == found
