"""Search in the shared pool, with exact filters: what the searcher knows of memories."""

from __future__ import annotations

import time
from collections.abc import Collection
from datetime import UTC, date, datetime
from typing import Annotated
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from memshare.agents.reasoning.short_term import Item
from memshare.broker.observe import tracing
from memshare.memory_service.memory import Memory, folded
from memshare.memory_service.recall.recall import Mode, Recall
from memshare.memory_service.stores.store import Where

Word = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=60)]


class Filters(BaseModel):
    """Exact conditions on memories; those that are null do not count, the others must all hold."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    agent: str | None = Field(default=None, description="the agent that wrote it")
    kind: str | None = Field(default=None, description="the kind of task that it answered")
    submitter: str | None = Field(default=None, description="who submitted that task")
    since: date | None = Field(default=None, description="remembered on this day (UTC) or later")
    until: date | None = Field(default=None, description="remembered on this day (UTC) or earlier")
    words: list[Word] | None = Field(default=None, max_length=10, description="words that all stand in it")


class Knowledge:
    """The pool of one task: `k` memories a search, 0 for a task that wants none, and never those in `not_shown`."""

    def __init__(self, recall: Recall, pool: str, k: int, mode: Mode, not_shown: Collection[UUID] = ()) -> None:
        self._recall = recall
        self._pool = pool
        self._k = k
        self._mode: Mode = mode
        self._not_shown = not_shown
        self.seconds: list[float] = []
        """How long each search took, without encoding."""

    @property
    def retriever_version(self) -> int:
        """The version of the retriever that is in use for the pool."""
        return self._recall.nearest(self._pool, "", np.zeros(0, np.float32), 0, self._mode).retriever_version

    def vector(self, text: str) -> NDArray[np.float32]:
        """A text's vector, of shape (dimension,)."""
        return self._recall.embed(text).unpack()

    def search(self, text: str, vector: NDArray[np.float32], filters: Filters) -> list[Item]:
        """The memories that are nearest to a text, best first."""
        if self._k == 0:
            return []
        among = Where(agent=filters.agent, kind=filters.kind, submitter=filters.submitter)
        began = time.monotonic()

        def may_be_shown(memory: Memory) -> bool:
            return memory.id not in self._not_shown and fits(memory, filters)

        with tracing.span("recall"):
            recalled = self._recall.nearest(self._pool, text, vector, self._k, self._mode, among, may_be_shown)
        self.seconds.append(time.monotonic() - began)
        return [_item(hit.memory, hit.similarity) for hit in recalled.hits]


def fits(memory: Memory, filters: Filters) -> bool:
    """Whether a memory is of the time and has the words that are asked for."""
    day = datetime.fromtimestamp(memory.created, UTC).date()
    text = folded(f"{memory.prompt or ''} {memory.answer}")
    return (
        (filters.since is None or day >= filters.since)
        and (filters.until is None or day <= filters.until)
        and all(folded(word) in text for word in filters.words or ())
    )


def _item(memory: Memory, similarity: float) -> Item:
    return Item(
        kind="memory", text=memory.answer, title=memory.prompt or "", memory_id=memory.id, similarity=similarity
    )
