"""The door to the store of memories: Qdrant's engine in the process (`edge_*`) or a Qdrant server (`server_*`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar
from uuid import UUID

from memshare_broker.errors import BadInput
from memshare_broker.wire.messages import Message
from memshare_memory.memory import Memory, Status
from memshare_memory.stores.bm25 import AVERAGE_LENGTH, Sparse

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PAGE = 200


class Paged(Protocol):
    """Any page, which says where the next one starts, if there is one."""

    @property
    def after(self) -> UUID | None: ...


P = TypeVar("P", bound=Paged)


def every(store: Store, where: Where) -> Iterator[Memory]:
    """All memories that are meant, in the order of their ids."""
    return (memory for page in pages(lambda after: store.page(where, _PAGE, after)) for memory in page.memories)


def by_ids(store: Store, ids: Collection[UUID]) -> dict[UUID, Memory]:
    """The memories with these ids that exist, in the order of their ids."""
    found = store.page(Where(ids=list(ids)), len(ids)).memories if ids else []
    return {memory.id: memory for memory in found}


def pages(fetch: Callable[[UUID | None], P]) -> Iterator[P]:
    """All pages, of which `fetch` gives the one that begins with an id, or the first."""
    page = fetch(None)
    yield page
    while page.after is not None:
        page = fetch(page.after)
        yield page


class Vectors(NamedTuple):
    """The vectors of a memory's text: dense of shape (dimension,) with length 1, and BM25.

    `masked` is the dense one of the masked text, of the same shape, or `dense` itself where there is nothing to mask;
    with None the one that the store has stays.
    """

    dense: NDArray[np.float32]
    sparse: Sparse
    masked: NDArray[np.float32] | None = None


@dataclass(frozen=True)
class Where:
    """Which memories are meant; conditions that are None do not count, the others must all hold."""

    pool: str | None = None
    status: Status | Sequence[Status] | None = None
    agent: str | None = None
    kind: str | None = None
    submitter: str | None = None
    model: str | None = None  # the model that wrote the answer
    submitter_not: Sequence[str] = ()  # none of these submitters
    task_id: str | None = None
    without_task: bool = False  # only those that no task made: what people brought in
    parents: Sequence[UUID] | None = field(default=None)  # memories that were shown at least one of these
    saying: str | Sequence[str] | None = None  # value of `memshare_memory.memory.saying` for the answer, or several
    ids: Sequence[UUID] | None = None
    ids_not: Sequence[UUID] = ()  # none of these
    created_from: float | None = None
    created_before: float | None = None  # Unix times in seconds: made at the first or later, and before the second
    score_from: float | None = None
    score_to: float | None = None  # both included; a memory without a score is in no range
    credibility_from: float | None = None
    credibility_to: float | None = None  # both included, of the credibility that was noted last
    valid_to: float | None = None  # Unix time in seconds: those that were valid until then, or until an earlier time
    words: Sequence[str] = ()  # words that all stand in the prompt or the answer, whatever their case
    pools: Sequence[str] | None = None  # any of these pools


SortKey = Literal["created", "score", "credibility"]
CountKey = Literal["pool", "kind", "agent", "submitter", "model", "status"]
EXACT: tuple[CountKey, ...] = ("pool", "status")
"""Fields by which memories are counted exactly; for other fields the engine estimates the counts."""
MOST_ORDERED = 10_000
"""Memories of which pages can be made in an order. For each page the ids of all are read, which takes 30 ms at most, as
the engine sorts memories that are alike in another way where it is asked for fewer."""
MOST_VALUES = 100  # of a field that is counted by, apart from pools


@dataclass(frozen=True)
class Order:
    """By what memories are sorted: the highest first, or with `ascending` the lowest."""

    by: SortKey
    ascending: bool = False


@dataclass(frozen=True)
class Query:
    """A search: which memories are meant, how many are wanted, and the vectors to compare them with.

    At least one of `dense`, of shape (dimension,), and `sparse` (BM25) is given; of both, the rankings are fused.
    """

    where: Where
    limit: int
    dense: NDArray[np.float32] | None = None
    sparse: Sparse | None = None
    at_least: float | None = None
    """The lowest score of a hit, where one vector is given; fewer are found then, and none is read in vain."""


class Hit(NamedTuple):
    """A memory that was found. `score` ranks it (cosine, BM25 or fused rank); `similarity` is the cosine.

    `vector` is its dense vector, of shape (dimension,), where it was fetched. `proven` says whether others' words speak
    for who submitted it; recall sets it. `judged` are those that it was compared with; None where that says
    nothing, as of what is made up. `arm` is that of its credibility (`memshare_memory.belief`), where it was ranked,
    and `both_right` are the memories that a person found right beside it.
    """

    memory: Memory
    score: float
    similarity: float
    vector: NDArray[np.float32] | None = None
    proven: bool = True
    judged: frozenset[UUID] | None = None
    arm: Any = None
    both_right: tuple[UUID, ...] = ()


class Page(NamedTuple):
    """Some memories in the order of their ids, and where the next page starts, if there is one."""

    memories: list[Memory]
    after: UUID | None


class RawPoint(NamedTuple):
    """A memory as it lies in the store, whether it can be read or not; `dense` is of shape (dimension,)."""

    id: UUID
    payload: dict[str, Any]
    dense: NDArray[np.float32] | None


class RawPage(NamedTuple):
    """Some of them in the order of their ids, and where the next page starts, if there is one."""

    points: list[RawPoint]
    after: UUID | None


@dataclass(frozen=True)
class Layout:
    """Encoder and dimension of a store's vectors; another encoder's vectors cannot be compared with its own."""

    encoder: str
    dimension: int


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


class Damaged(BadInput):
    """The files of a pool are not what they were."""


class Store(Protocol):
    """Memories with their vectors. Safe to use from many threads; a write is seen by the next read.

    A memory that cannot be read is left out of every answer but those of `raw` and `count`.
    """

    @property
    def unreadable(self) -> Collection[UUID]:
        """Ids of the memories that were left out so far."""
        ...

    def close(self) -> None:
        """Let go of what it holds; it is not used again."""
        ...

    def put(self, items: Sequence[tuple[Memory, Vectors]], *, in_place: bool = False, are_new: bool = False) -> None:
        """Write memories, each in place of one with the same id, whose noted credibility stays.

        So does its masked vector where none comes with it.
        With `in_place` only those that are there: one that was deleted meanwhile stays deleted. `are_new` says that
        none is there, so that nothing noted of it is looked for.
        """
        ...

    def search(self, queries: Sequence[Query]) -> list[list[Hit]]:
        """The hits of several searches, in the order of the searches, with one request to the engine.

        The best memories of each come first: by cosine, by BM25, or given both by reciprocal rank fusion of the two.
        Without `dense` the similarity of a hit is 0.
        """
        ...

    def page(self, where: Where, limit: int, after: UUID | None = None, *, order: Order | None = None) -> Page:
        """Memories in the order of their ids, from `after` on (itself included); or the first ones in another order.

        There those without a score stand below all others, and no page comes next.
        """
        ...

    def order_ids(self, where: Where, order: Order, limit: int) -> list[UUID]:
        """The ids of the first memories in an order, readable or not: far faster than the memories."""
        ...

    def note_credibility(self, noted: Mapping[UUID, float]) -> None:
        """Note how credible memories are, so that they are found and sorted by it; unknown ids are passed over.

        It stays with a memory that is written again. One of which nothing was noted has 1.
        """
        ...

    def count(self, where: Where, by: CountKey = "pool") -> dict[str, int]:
        """How many memories each pool has; pools without any are left out.

        Or how many have each value of another field, the most frequent ones; exactly by what is in `EXACT`.
        """
        ...

    def dense_of(self, ids: Sequence[UUID]) -> dict[UUID, NDArray[np.float32]]:
        """The dense vectors of some memories, of shape (dimension,); unknown ids are left out."""
        ...

    def both_of(self, ids: Sequence[UUID]) -> dict[UUID, NDArray[np.float32]]:
        """The same, and below them the vectors of the masked texts, of shape (2, dimension)."""
        ...

    def raw(self, limit: int, after: UUID | None = None, *, text_alone: bool = False) -> RawPage:
        """Everything as it lies there, in the order of the ids, from `after` on (itself included).

        With `text_alone` without vectors and without the fields by which memories are found, which is far faster.
        """
        ...

    def delete(self, ids: Sequence[UUID]) -> None:
        """Remove memories; unknown ids are passed over."""
        ...


def search_one(
    store: Store, where: Where, limit: int, dense: NDArray[np.float32] | None = None, sparse: Sparse | None = None
) -> list[Hit]:
    """The hits of one search; see `Store.search`."""
    [hits] = store.search([Query(where, limit, dense, sparse)])
    return hits
