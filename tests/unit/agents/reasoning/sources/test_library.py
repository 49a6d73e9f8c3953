from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import redis

from memshare_agents.reasoning.sources import extract_text
from memshare_agents.reasoning.sources.documents import LENGTH, Documents, Library, Passage, index, pool_of
from memshare_broker.errors import BadInput, NotYet, TryAgain
from memshare_broker.settings import Settings
from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import Memory
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import Recall
from memshare_memory.recall.retriever import Retriever
from memshare_memory.stores.store import Store, Vectors, Where, every
from tests.support.doors import open_door
from tests.support.word_encoder import WordEncoder

LAMP = "<html><head><title>The lamp</title></head><body><p>The lamp was lit by Ada Marsh in 1874.</p></body></html>"


@pytest.fixture
def folder(tmp_path: Path, make_pdf: Callable[..., bytes]) -> Path:
    folder = tmp_path / "papers"
    (folder / "old").mkdir(parents=True)
    (folder / "lamp.html").write_text(LAMP)
    (folder / "old" / "tides.pdf").write_bytes(make_pdf("High water comes at noon.", title="Tides"))
    (folder / "long.txt").write_text("\n\n".join(f"Ship number {n} carried {'tea ' * 40}." for n in range(30)))
    return folder


@pytest.fixture
def open_library(memory: MemoryClient, folder: Path, redis_client: redis.Redis) -> Callable[[], Library]:
    def opened() -> Library:
        documents = Documents([folder], 1_000_000)
        name = pool_of(documents.places)
        library = Library(memory, name)
        library.open(index(memory, name, documents, redis_client))
        return library

    return opened


def find(library: Library, text: str, k: int = 1, documents: tuple[str, ...] = ()) -> list[Passage]:
    return library.search(text, k, documents)


Open = Callable[[], Library]


def test_a_passage_is_found_with_its_source_and_title(open_library: Open, pool: Pool) -> None:
    library = open_library()

    [lamp] = find(library, "who lit the lamp in 1874")
    [tides] = find(library, "high water at noon")

    assert (lamp.source, lamp.title) == ("lamp.html", "The lamp")
    assert lamp.text == "The lamp was lit by Ada Marsh in 1874."
    assert (tides.source, tides.title, tides.text) == ("old/tides.pdf", "Tides", "High water comes at noon.")
    assert 0 < lamp.similarity <= 1
    [stored] = pool().store.page(Where(ids=[lamp.memory_id]), 1).memories
    assert (stored.kind, stored.submitter, stored.prompt, stored.status) == ("passage", "documents", None, "active")


def test_a_long_document_is_cut_into_passages_between_its_paragraphs(open_library: Open) -> None:
    passages = find(open_library(), "ship tea", 20, ("long.txt",))

    assert len(passages) > 5
    assert all(len(one.text) <= LENGTH and one.text.startswith("Ship number") for one in passages)
    assert len({one.memory_id for one in passages}) == len(passages)


def test_only_the_documents_and_folders_that_are_named_are_searched(open_library: Open) -> None:
    library = open_library()

    assert {one.source for one in find(library, "the lamp", 50)} == {"lamp.html", "long.txt", "old/tides.pdf"}
    assert {one.source for one in find(library, "the lamp", 50, ("old",))} == {"old/tides.pdf"}
    assert {one.source for one in find(library, "the lamp", 50, ("old/", "lamp.html"))} == {
        "lamp.html",
        "old/tides.pdf",
    }
    assert find(library, "the lamp", 0) == []
    for unknown in ("none.txt", "ol", "../papers"):
        with pytest.raises(BadInput, match="in the index"):
            find(library, "the lamp", 5, (unknown,))


def test_an_unchanged_document_is_encoded_once(open_library: Open, encoder: WordEncoder) -> None:
    open_library()
    encoded = len(encoder.encoded)
    assert encoded > 5

    open_library()

    assert len(encoder.encoded) == encoded


def test_a_changed_document_replaces_what_it_said_and_no_other_is_encoded(
    open_library: Open, folder: Path, encoder: WordEncoder
) -> None:
    open_library()
    encoder.encoded.clear()
    (folder / "lamp.html").write_text(LAMP.replace("Ada Marsh", "Bo Reed"))

    library = open_library()

    assert [text.splitlines()[0] for text in encoder.encoded] == ["The lamp\tlamp.html"]
    found = find(library, "lamp", 50, ("lamp.html",))
    assert [one.text for one in found] == ["The lamp was lit by Bo Reed in 1874."]
    assert not any("Ada" in one.text for one in find(library, "Ada Marsh lamp", 50))


def test_a_removed_document_is_found_no_more(open_library: Open, folder: Path, pool: Pool) -> None:
    open_library()
    (folder / "long.txt").unlink()

    library = open_library()

    assert library.sources == ["lamp.html", "old/tides.pdf"]
    assert {one.source for one in find(library, "ship tea", 50)} == {"lamp.html", "old/tides.pdf"}
    assert len(list(every(pool().store, Where(kind="passage")))) == 2


class BreaksOff:
    """A store that takes one batch of passages and then no more."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.taken = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def put(self, items: Sequence[tuple[Memory, Vectors]]) -> None:
        if self.taken:
            raise TryAgain("the store is away")
        self.taken += len(items)
        self._store.put(items)


def test_a_document_whose_indexing_was_broken_off_is_indexed_again(
    open_library: Open,
    folder: Path,
    store: Store,
    encoder: WordEncoder,
    redis_client: redis.Redis,
    settings: Settings,
) -> None:
    (folder / "lamp.html").unlink()
    (folder / "long.txt").write_text("\n\n".join(f"Ship number {n} carried {'tea ' * 40}." for n in range(2_500)))
    breaking = BreaksOff(store)
    recall = Recall(breaking, encoder, Retriever(redis_client, encoder))  # type: ignore[arg-type]
    documents = Documents([folder], 1_000_000)
    name = pool_of(documents.places)

    away = settings.model_copy(update={"data": folder})
    with (
        open_door(away, Pool(redis_client, recall, lambda _: recall), redis_client) as memory,
        pytest.raises(TryAgain, match="the store is away"),
    ):
        index(memory, name, documents, redis_client)
    assert 0 < store.count(Where(kind="passage"))[name] == breaking.taken

    assert len(find(open_library(), "ship tea", 1_000, ("long.txt",))) > 2 * breaking.taken


def test_a_document_that_cannot_be_read_is_left_out_and_the_others_are_not(
    open_library: Open, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 no more")
    (folder / "empty.txt").write_text("")
    (folder / "large.txt").write_bytes(b"x " * 1_000_000)

    with caplog.at_level(logging.WARNING):
        library = open_library()

    assert library.sources == ["lamp.html", "long.txt", "old/tides.pdf"]
    assert caplog.text.count("Left out of the index") == 3


def test_a_document_made_to_stall_is_named_with_the_reason_and_the_others_are_indexed(
    open_library: Open, folder: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extract_text, "SECONDS", {"html": 2.0, "pdf": 2.0})
    attributes = " ".join(f"a{number}=''" for number in range(100_000))  # a minute or two of work
    (folder / "aa.html").write_text(f"<html><body><p {attributes}>Ada</p></body></html>")
    began = time.monotonic()

    with caplog.at_level(logging.WARNING):
        library = open_library()

    assert library.sources == ["lamp.html", "long.txt", "old/tides.pdf"]
    assert time.monotonic() - began < 60
    assert "Left out of the index: 'aa.html': 'aa.html' takes more than 2 s of processor time." in caplog.text


def test_workers_that_start_together_index_once(open_library: Open, encoder: WordEncoder) -> None:
    with ThreadPoolExecutor(4) as threads:
        libraries = list(threads.map(lambda _: open_library(), range(4)))

    assert len({tuple(library.sources) for library in libraries}) == 1
    assert len(encoder.encoded) == len(set(encoder.encoded)) > 5


def test_documents_of_another_folder_are_in_another_pool(
    open_library: Open, tmp_path: Path, memory: MemoryClient, redis_client: redis.Redis
) -> None:
    library = open_library()
    other = tmp_path / "other"
    other.mkdir()
    (other / "cat.txt").write_text("The lamp of the cat.")
    documents = Documents([other], 100_000)
    name = pool_of(documents.places)

    second = Library(memory, name)
    second.open(index(memory, name, documents, redis_client))

    assert {one.source for one in find(second, "lamp", 50)} == {"cat.txt"}
    assert "cat.txt" not in {one.source for one in find(library, "lamp", 50)}


def test_the_same_file_at_another_time_is_the_same_document(open_library: Open, folder: Path, pool: Pool) -> None:
    open_library()
    before = {memory.id for memory in every(pool().store, Where(kind="passage"))}
    os.utime(folder / "lamp.html", (1, 1))

    open_library()

    assert {memory.id for memory in every(pool().store, Where(kind="passage"))} == before


def test_documents_that_are_being_indexed_are_not_searched_by_half(
    memory: MemoryClient, folder: Path, redis_client: redis.Redis
) -> None:
    documents = Documents([folder], 1_000_000)
    name = pool_of(documents.places)
    library = Library(memory, name)

    with pytest.raises(NotYet, match="documents are being indexed"):
        library.require_indexed()

    library.open(index(memory, name, documents, redis_client))
    assert library.require_indexed().keys() == {"lamp.html", "long.txt", "old/tides.pdf"}
