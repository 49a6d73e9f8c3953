"""A store is filled from a backup: an embedded one in its folder, or the one on a Qdrant server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from memshare_broker.wire.messages import Embedding
from memshare_memory.pool.known_pools import RefillJob
from memshare_memory.pool.refill import refill
from memshare_memory.stores.open_store import open_store
from memshare_memory.stores.store import Where, every, search_one
from tests.support.memories import LAYOUT, Item, at, remembered
from tests.support.qdrant_server import emptied

ITEMS = [remembered(f"lamp {number}", number) for number in range(300)]


def lines(items: list[Item]) -> Iterator[bytes]:
    for memory, vectors in items:
        dense = Embedding.pack(LAYOUT.encoder, vectors.dense).model_dump()
        yield json.dumps({"id": str(memory.id), "text": memory.model_dump_json(), "dense": dense}).encode()


@pytest.fixture(params=["embedded", "server"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Settings, str | None]]:
    """Settings, and the folder that is filled; None for the store on the server."""
    if request.param == "embedded":
        yield Settings(data=tmp_path, qdrant_url=None), str(tmp_path / "pool")
        return
    with emptied() as url:
        yield Settings(data=tmp_path, qdrant_url=url), None


def test_every_memory_is_there_and_what_was_there_before_is_gone(place: tuple[Settings, str | None]) -> None:
    settings, folder = place
    with closing(open_store(settings, LAYOUT, "a test")) as store:
        store.put([ITEMS[0], remembered("old lamp")])
    unreadable = iter([json.dumps({"id": str(ITEMS[1][0].id), "problem": "it is no memory"}).encode()])

    with pytest.raises(BadInput, match="--replace"):
        refill(settings, RefillJob(encoder=LAYOUT.encoder, folder=folder, replace=False), lines(ITEMS))
    done = refill(
        settings,
        RefillJob(encoder=LAYOUT.encoder, folder=folder, replace=True),
        (line for some in (unreadable, lines(ITEMS)) for line in some),
    )

    assert (done.written, done.left_out) == (300, 1)
    with closing(open_store(settings, LAYOUT, "a test")) as store:
        assert {memory.id: memory for memory in every(store, Where())} == {memory.id: memory for memory, _ in ITEMS}
        assert search_one(store, Where(), 1, dense=at(7))[0].memory == ITEMS[7][0]
        assert search_one(store, Where(), 1, sparse=ITEMS[7][1].sparse)[0].memory == ITEMS[7][0]


def test_vectors_of_another_encoder_are_refused(place: tuple[Settings, str | None]) -> None:
    settings, folder = place

    with pytest.raises(BadInput, match="has a vector of 'tests/compass' and not of 'another'"):
        refill(settings, RefillJob(encoder="another", folder=folder, replace=True), lines(ITEMS))
