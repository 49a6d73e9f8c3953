"""Passages: pieces of a document as memories of the documents' pool, and back."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from uuid import UUID

from memshare_agents.reasoning.sources.cutting import pieces
from memshare_agents.reasoning.sources.extract_text import SourcePage
from memshare_broker.wire.messages import Message, derived_id
from memshare_memory.door.messages import Found
from memshare_memory.memory import Memory

LENGTH = 800
"""Most characters of a passage: of these the bundled encoder reads all."""

KIND = "passage"
SUBMITTER = "documents"

_FORM = "1"  # of what is stored; another one indexes every document anew
_BETWEEN = "\t"  # title and source: neither contains one


class Passage(Message):
    """Some sentences of a document, and their cosine similarity to what was asked."""

    text: str
    source: str
    title: str
    similarity: float
    memory_id: UUID


def pool_of(places: Sequence[Path]) -> str:
    """The name of the pool for the documents in these places."""
    names = "\n".join(sorted(map(str, places)))
    return f"documents-{blake2b(names.encode(), digest_size=8).hexdigest()}"


def document_id(pool: str, source: str, data: bytes) -> UUID:
    """The id of what stands in a document: another one as soon as a byte is changed."""
    return derived_id("document", _FORM, pool, source, blake2b(data, digest_size=16).hexdigest())


def passage_id(document: UUID, number: int) -> UUID:
    """The id of a passage, counted from 0."""
    return derived_id("passage", str(document), str(number))


def memories_of(pool: str, document: UUID, page: SourcePage, created: float) -> list[Memory]:
    """The passages of a page, each a statement that begins with title and source.

    The document stands where a pair's parents do: a passage comes from it, and is found by it. `created` is the
    document's time, in seconds of Unix time.
    """
    return [
        Memory(
            id=passage_id(document, number),
            pool=pool,
            prompt=None,
            answer=f"{page.title}{_BETWEEN}{page.source}\n{text}",
            kind=KIND,
            submitter=SUBMITTER,
            parents=(document,),
            created=created,
        )
        for number, text in enumerate(pieces(page.text, LENGTH))
    ]


def passage_of(found: Found) -> Passage:
    """The passage that was found."""
    heading, _, text = found.memory.answer.partition("\n")
    title, _, source = heading.partition(_BETWEEN)
    return Passage(text=text, source=source, title=title, similarity=found.similarity, memory_id=found.memory.id)
