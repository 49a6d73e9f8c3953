"""Metadata of a store, so that vectors with another meaning never get into it."""

from __future__ import annotations

import re

from memshare_broker.errors import BadInput
from memshare_broker.wire.messages import Message
from memshare_memory.stores.bm25 import AVERAGE_LENGTH
from memshare_memory.stores.store import Layout

_FORMAT = 1


class StoreMetadata(Message):
    """How the vectors and payloads of a store were made; written once, when the store is."""

    format: int
    encoder: str
    dimension: int
    average_length: int

    @classmethod
    def of(cls, layout: Layout) -> StoreMetadata:
        return cls(format=_FORMAT, encoder=layout.encoder, dimension=layout.dimension, average_length=AVERAGE_LENGTH)

    @property
    def layout(self) -> Layout:
        return Layout(self.encoder, self.dimension)


def place_of(layout: Layout) -> str:
    """A name for what holds vectors of this layout: letters, digits and hyphens."""
    return f"{re.sub('[^a-z0-9]+', '-', layout.encoder.lower()).strip('-')}-{layout.dimension}"


def require_same(found: StoreMetadata, wanted: StoreMetadata, place: str, elsewhere: str) -> None:
    """Raise `BadInput` where a store was made otherwise; `elsewhere` says how to begin with another one."""
    if (found.encoder, found.dimension) != (wanted.encoder, wanted.dimension):
        raise BadInput(
            f"{place} holds vectors of the encoder {found.encoder!r} ({found.dimension} numbers each), and"
            f" this process has {wanted.encoder!r} ({wanted.dimension}): they cannot be compared."
            f" Set MEMSHARE_ENCODER back to {found.encoder!r}, re-encode the pool with"
            f" `memshare retriever consolidate`, or {elsewhere}."
        )
    if found != wanted:
        raise BadInput(
            f"{place} was made by another version of memshare (format {found.format}, BM25 average length"
            f" {found.average_length}; expected {wanted.format} and {wanted.average_length})."
            f" Use that version, or {elsewhere}."
        )
