"""Requests to the memory service at its door, and its replies, as frozen models that refuse unknown fields."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)

from memshare_broker.wire.forms import Label
from memshare_broker.wire.messages import Embedding, Message, Shown
from memshare_memory.memory import Credibility, Memory, Mode, saying
from memshare_memory.recall.query import AskedBy
from memshare_memory.recall.query import RecallRequest as RecallRequest
from memshare_memory.stores.store import MOST_ORDERED, CountKey, Order, Where

Word = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=60)]


class Conditions(Message):
    """Which memories count: all conditions must hold, and those that are null do not count."""

    agent: Label | None = Field(default=None, description="the agent that wrote it")
    kind: Label | None = Field(default=None, description="the kind of task that it answered")
    submitter: Label | None = Field(default=None, description="who submitted that task")
    model: Label | None = Field(default=None, description="the model that wrote the answer")
    since: date | None = Field(default=None, description="made on this day (UTC) or later")
    until: date | None = Field(default=None, description="made on this day (UTC) or earlier")
    words: tuple[Word, ...] = Field(default=(), max_length=10, description="all of them stand in it")
    score_from: float | None = Field(default=None, description="minimum score, of 100")
    score_to: float | None = Field(default=None, description="maximum score")
    credibility_from: float | None = Field(default=None, description="minimum credibility (untested: 1)")
    credibility_to: float | None = Field(default=None, description="maximum credibility")

    @field_validator("since", "until", mode="wrap")
    @classmethod
    def _day(cls, given: Any, read: ValidatorFunctionWrapHandler) -> Any:
        try:
            return read(given)
        except ValidationError as error:
            raise ValueError("expected a day such as 2026-11-24 (UTC)") from error

    @field_validator("words", mode="before")
    @classmethod
    def _none_is_no_word(cls, given: Any) -> Any:
        return () if given is None else given

    def where(self, **more: Any) -> Where:
        """The same for the store; `more` are other fields of `Where`."""
        same = self.model_dump(include=set(Conditions.model_fields) - {"since", "until"})
        return Where(**same, created_from=_midnight(self.since), created_before=_midnight(self.until, 1), **more)


def _midnight(day: date | None, later: int = 0) -> float | None:
    if day is None:
        return None
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() + later * 86_400  # also after the last date


LONGEST_PAGE = 1_000  # memories


class Found(Message):
    """A memory that was found, and its cosine similarity to the text.

    `proven` says whether others' words speak for who submitted it. A search does not look at its credibility.
    """

    memory: Memory
    similarity: float
    proven: bool = True
    credibility: Credibility | None = None

    @property
    def shown(self) -> Shown:
        """Record of this memory for a task that it is shown to."""
        said = saying(self.memory.answer)
        return Shown(id=self.memory.id, similarity=self.similarity, proven=self.proven, said=said)


class Recollection(Message):
    """Memories that were recalled, best first, and the vector of the text, which is made once a journey.

    Where no memory was asked for, no vector was made. `nearer` is one more similar than all of them that ranks behind.
    """

    found: tuple[Found, ...]
    embedding: Embedding | None
    retriever_version: int
    nearer: Found | None = None

    @property
    def nearest(self) -> Found | None:
        """The most similar one, wherever it ranks, and however many were asked for."""
        return self.nearer or max(self.found, key=lambda found: found.similarity, default=None)


class EmbedRequest(Message):
    """A text to encode."""

    text: str
    asked_by: Label | None = AskedBy


class SearchRequest(Message):
    """The k memories nearest to a text, whatever has become of them; credibility does not count."""

    text: str
    k: int = Field(ge=1, le=LONGEST_PAGE)
    mode: Mode = "dense"
    where: Where = Where()
    asked_by: Label | None = AskedBy


class PageRequest(Message):
    """Some memories in the order of their ids, from `after` on (itself included), or the first ones in another."""

    where: Where = Where()
    limit: int = Field(default=200, ge=1, le=LONGEST_PAGE)
    after: UUID | None = None
    order: Order | None = None
    skip: int | None = Field(default=None, ge=0, lt=MOST_ORDERED, description="in that other order: those before")

    @model_validator(mode="after")
    def _one_order(self) -> PageRequest:
        if self.order is not None and self.after is not None:
            raise ValueError("'after' goes with the order of the ids: leave out 'order'")
        if self.order is None and self.skip is not None:
            raise ValueError("'skip' goes with an 'order': in the order of the ids, say 'after'")
        return self


class CountRequest(Message):
    """Which memories are counted, and by which fields."""

    where: Where = Where()
    by: tuple[CountKey, ...] = ("pool",)


class MemoryPage(Message):
    """Some memories, and where the next page starts, if there is one."""

    memories: tuple[Memory, ...]
    after: UUID | None


class RawRequest(Message):
    """Everything as it lies in the store, in the order of the ids from `after` on, `limit` of it at a time.

    `only` leaves out the rest: those that are damaged, or of each no more than its digest.
    """

    limit: int = Field(default=LONGEST_PAGE, ge=1, le=LONGEST_PAGE)
    after: UUID | None = None
    only: Literal["damaged", "digests"] | None = None


class RawMemory(Message):
    """A memory as it lies in the store, readable or not; `problem` says what is wrong with it.

    `text` is the memory as JSON, and `fields` are all of a damaged one.
    """

    id: UUID
    digest: str  # of the text
    text: str | None = None
    dense: Embedding | None = None
    masked: str | None = None  # its field `masked`
    fields: dict[str, JsonValue] | None = None
    problem: str | None = None


class RawMemories(Message):
    """Some of them, or their digests by id, and where the next page starts, if there is one.

    `seen` counts what was left out, too.
    """

    memories: tuple[RawMemory, ...]
    digests: dict[str, str] = Field(default={})
    seen: int
    after: UUID | None
    encoder: str


class Stats(Message):
    """How many memories there are, in all and by pool.

    `unreadable` counts those that were met since the service started and that could not be read.
    """

    total: int
    by_pool: dict[str, int]
    unreadable: int = 0


class Contradicted(Message):
    """The memories that contradict one, and what people decided of it and them."""

    conflicts: tuple[UUID, ...]
    lost_to: tuple[UUID, ...] = Field(default=(), description="of these, those that a person found right in its place")
    won_over: tuple[UUID, ...] = Field(default=(), description="of these, those that a person found wrong")
    both_right: tuple[UUID, ...] = Field(
        default=(), description="those of which a person said that they do not contradict it"
    )

    def is_open(self, rival: Memory) -> bool:
        """True if tasks are shown a memory that contradicts this one, and nobody has decided which is right."""
        is_decided = rival.id in (*self.lost_to, *self.won_over)
        return rival.id in self.conflicts and not is_decided and rival.status == "active"


class JudgedMemory(Contradicted):
    """A memory with its credibility and the memories that contradict it."""

    memory: Memory
    credibility: Credibility


class Refusal(Message):
    """Why a request was not fulfilled: it cannot be (`bad input`, `wrong again`, `give up`), or not now."""

    kind: Literal["bad input", "wrong again", "try again", "give up"]
    error: str
    wait: float | None = None
