"""Search in the shared pool, with exact filters: what the searcher knows of memories."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal
from uuid import UUID

from memshare_agents.reasoning.short_term import ShortTermItem
from memshare_memory.door.client import MemoryClient
from memshare_memory.door.messages import Conditions, Found, RecallRequest
from memshare_memory.memory import FLOOR, Mode
from memshare_memory.stores.store import Order, SortKey

Sort = Literal["time", "score", "credibility"]
_KEYS: dict[Sort, SortKey] = {"time": "created", "score": "score", "credibility": "credibility"}


class Knowledge:
    """The pools of one task: `k` memories a search, 0 for a task that wants none, and never those in `not_shown`."""

    def __init__(
        self,
        memory: MemoryClient,
        pool: str,
        k: int,
        mode: Mode,
        *,
        beside: Sequence[str] = (),
        kind: str | None = None,
        not_shown: tuple[UUID, ...] = (),
        asked_by: str | None = None,
    ) -> None:
        self._memory = memory
        self._pool = pool
        self._beside = tuple(beside)
        self._k = k
        self._mode = mode
        self._kind = kind
        self._not_shown = not_shown
        self._asked_by = asked_by
        self._version: int | None = None
        self.seconds: list[float] = []
        """How long each search took."""

    @property
    def retriever_version(self) -> int:
        """The version of the retriever that the last search used, or that is in use where there was none."""
        if self._version is None:
            nothing = RecallRequest(pool=self._pool, text="", k=0, new_pool=True)
            self._version = self._memory.recall(nothing).retriever_version
        return self._version

    def _sorted(self, conditions: Conditions, order: Order) -> list[ShortTermItem]:
        """The first memories that agents may be shown, in an order; by credibility pool by pool."""
        where = conditions.where(status="active", ids_not=self._not_shown)
        where = replace(where, credibility_from=max(FLOOR, where.credibility_from or 0.0))
        pools = (self._pool, *self._beside)
        found = [one for pool in pools for one in self._memory.first(replace(where, pool=pool), order, self._k)]
        if self._beside and order.by != "credibility":
            found.sort(key=lambda one: getattr(one, order.by) or 0.0, reverse=not order.ascending)
        return [_item(Found(memory=one, similarity=0.0)) for one in found[: self._k]]

    def search(self, text: str, among: Conditions, sort: Sort | None = None) -> list[ShortTermItem]:
        """The memories that are nearest to a text, best first; or with `sort` the first ones, whatever the text."""
        if self._k == 0:
            return []
        if sort is not None:
            return self._sorted(among, Order(_KEYS[sort]))
        wanted = RecallRequest(
            pool=self._pool,
            beside=self._beside,
            text=text,
            k=self._k,
            mode=self._mode,
            among=among.where(ids_not=self._not_shown),
            kind=self._kind,
            new_pool=True,
            asked_by=self._asked_by,
        )
        began = time.monotonic()
        recalled = self._memory.recall(wanted)
        self.seconds.append(time.monotonic() - began)
        self._version = recalled.retriever_version
        return [_item(one) for one in recalled.found]


def _item(found: Found) -> ShortTermItem:
    memory = found.memory
    return ShortTermItem(
        kind="memory",
        text=memory.answer,
        source=memory.source or "",
        title=memory.prompt or "",
        memory_id=memory.id,
        similarity=found.similarity,
        proven=found.proven,
        said=found.shown.said,
    )
