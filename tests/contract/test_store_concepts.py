"""Concepts are vectors of every store, of every memory that has some, and go with it."""

from __future__ import annotations

import math
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import pytest
import qdrant_edge as edge
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import Headers, UnexpectedResponse

from memshare.memory_service.stores import bm25, concept_vectors, edge_folder, edge_requests, points
from memshare.memory_service.stores.edge_store import EdgeStore
from memshare.memory_service.stores.server_collection import ALIAS, current_collection, turn_alias
from memshare.memory_service.stores.server_store import ServerStore
from memshare.memory_service.stores.store import Query, Store, Where
from memshare.memory_service.stores.store_metadata import StoreMetadata, place_of
from tests.support.locked_qdrant import locked_qdrant
from tests.support.memories import LAYOUT, Item, at, prompts, remembered


def about(prompt: str, *names: str) -> Item:
    return remembered(prompt, concepts={"0": names[:1], "-1": names[1:]} if names else {})


def named(store: Store, *names: str) -> list[str | None]:
    [hits] = store.search_batch([Query(Where(), 9, concepts=concept_vectors.query([], names))])
    return prompts(hits)


def test_memories_are_found_by_their_concepts_and_rare_ones_count_more(store: Store) -> None:
    store.put([about("pets", "Pet", "Cat", "Dog"), about("owls", "Owl", "Bird"), about("cats", "cats"), about("none")])

    cat, dog = (Query(Where(), 9, concepts=concept_vectors.query([], [name])) for name in ("Cat", "Dog"))
    by_cat, by_dog = store.search_batch([cat, dog])

    assert (prompts(by_cat), prompts(by_dog)) == (["cats", "pets"], ["pets"])
    assert by_cat[0].score / by_cat[1].score == pytest.approx(math.sqrt(3), rel=1e-4), "of 1 concept, and of 3"
    assert by_dog[0].score > by_cat[1].score > 0, "of the same memory"
    assert {hit.similarity for hit in by_cat} == {0}


def test_concepts_are_fused_with_the_other_rankings(store: Store) -> None:
    store.put([remembered(f"memory {i}", 3 * i) for i in range(5)])
    store.put([remembered("far", 150, concepts={"0": ("Owl",)})])

    three = Query(Where(), 3, at(0), bm25.query("far"), concept_vectors.query([], ["owls"]))
    [hits] = store.search_batch([three])

    assert prompts(hits)[0] == "far"
    assert hits[0].similarity == pytest.approx(math.cos(math.radians(150)), abs=1e-5)


def test_the_vector_of_concepts_is_that_of_the_memory_as_it_is_now(store: Store) -> None:
    memory, vectors = about("a", "Cat")
    store.put([(memory, vectors), about("b", "Dog")])
    assert named(store, "Cat") == ["a"]

    store.put([(memory.model_copy(update={"concepts": {"0": ("Owl",)}, "status": "hidden"}), vectors)])
    assert (named(store, "Cat"), named(store, "Owl")) == ([], ["a"])

    store.put([(memory.model_copy(update={"concepts": {}}), vectors)])
    assert named(store, "Owl") == []

    store.delete([about("b")[0].id])
    assert named(store, "Dog") == []


def test_an_embedded_pool_from_before_concepts_gets_a_place_for_them(tmp_path: Path) -> None:
    engine = edge_folder.prepare(tmp_path, LAYOUT)
    config = edge_requests.config(LAYOUT)
    old = edge.EdgeConfig(
        vectors=config.vectors, sparse_vectors={points.SPARSE: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)}
    )
    shard = edge.EdgeShard.load(str(engine), old)
    memory, vectors = remembered("old", 20)
    point = edge.Point(memory.id, edge_requests.vectors(memory, vectors), points.payload(memory))
    shard.update(edge.UpdateOperation.upsert_points([point]))
    shard.close()

    with closing(EdgeStore.open(tmp_path, LAYOUT, "a test")) as store:
        store.put([about("new", "Owl")])
        assert named(store, "Owl") == ["new"]
        assert prompts(store.search(Where(), 2, dense=at(20), sparse=bm25.query("old"))) == ["old", "new"]
    with closing(EdgeStore.open(tmp_path, LAYOUT, "a test")) as store:
        assert named(store, "Owl") == ["new"], "the place is made once"


def old_collection() -> QdrantClient:
    """A server with a pool from before concepts, of one memory."""
    client = locked_qdrant()
    client.create_collection(
        f"{ALIAS}-{place_of(LAYOUT)}",
        vectors_config={points.DENSE: models.VectorParams(size=LAYOUT.dimension, distance=models.Distance.COSINE)},
        sparse_vectors_config={points.SPARSE: models.SparseVectorParams(modifier=models.Modifier.IDF)},
        metadata=StoreMetadata.of(LAYOUT).model_dump(),
    )
    turn_alias(client, LAYOUT, ALIAS)
    return client


def opened(client: QdrantClient) -> ServerStore:
    return ServerStore(client, current_collection(client, LAYOUT, ALIAS, "memory"), "memory")


def test_a_pool_on_a_server_from_before_concepts_gets_a_place_for_them() -> None:
    client = old_collection()

    store = opened(client)
    store.put([about("new", "Owl")])
    assert named(store, "Owl") == ["new"]
    assert named(opened(client), "Owl") == ["new"], "the place is made once"


def test_a_server_that_is_too_old_to_make_a_place_keeps_memories_with_their_concepts() -> None:
    client = old_collection()
    client.create_vector_name = refuse  # type: ignore[method-assign]

    store = opened(client)
    store.put([about("new", "Owl")])
    [memory] = store.page(Where(), 9).memories
    assert memory.concepts == {"0": ("Owl",), "-1": ()}
    assert prompts(store.search(Where(), 9, dense=at(0))) == ["new"]


def refuse(*_: Any, **__: Any) -> NoReturn:
    raise UnexpectedResponse(404, "Not Found", b"", Headers())
