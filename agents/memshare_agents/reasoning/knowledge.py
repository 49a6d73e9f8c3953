"""Knowledge of a run: its short-term memory, and search in the shared pool.

Short-term memory is the field's picture (DynaMind, arXiv 2310.14248): each item has a strength, which decays with every
step, is restored when the item is recalled, and below a threshold the item is dropped. Answers to sub-questions are
retained, as the answer to the whole is made of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal
from uuid import UUID

from memshare_memory.door.client import MemoryClient
from memshare_memory.door.messages import Conditions, Found, RecallRequest
from memshare_memory.memory import FLOOR, Mode
from memshare_memory.stores.store import Order, SortKey

Kind = Literal["memory", "passage", "link", "page", "not there", "tool", "answer", "failed answer"]

DECAY = 0.9  # of the strength is left after a step
THRESHOLD = 0.25  # reached after 14 steps without being recalled
LASTING: tuple[Kind, ...] = ("answer", "failed answer")
"""Kinds of items that do not fade, the more important last."""
LARGEST = 4  # an item takes at most one part in so many of the room
LARGEST_FAILED = 24  # so that all failed answers of a run together leave most of the room
OVERHEAD = 24  # tokens that an item takes beside its texts
CUT = "…"


@dataclass(frozen=True)
class ShortTermItem:
    """An item that was found, or not found on a page, or an answer, verified or failed (`title` is then the reason).

    `source` is where it can be read whole, `memory_id` which memory of the pool or of the documents it is, and
    `similarity` that memory's cosine, with `proven` and `said` as in `Shown`; `parents` are memories of the same
    source. `about` is the sub-question that an answer is to, and empty for the task's own; `rests_on` has what a
    verified one rests on, with shares. `label` names it within the run.
    """

    kind: Kind
    text: str
    source: str = ""
    title: str = ""
    memory_id: UUID | None = None
    similarity: float = 0.0
    proven: bool = True
    said: str | None = None
    parents: tuple[UUID, ...] = ()
    about: str = ""
    rests_on: tuple[tuple[ShortTermItem, float], ...] = ()
    label: str = ""
    strength: float = 1.0

    @property
    def name(self) -> str:
        """Name by which a person knows it."""
        what = self.about or self.source or self.title or self.text
        return f"{self.label} {what}" if self.label else what

    @property
    def tokens(self) -> int:
        return sum(map(tokens_of, (self.text, self.title, self.source, self.about))) + OVERHEAD


def tokens_of(text: str) -> int:
    """An upper estimate of a text's tokens: a token for every three bytes, which is a Chinese character."""
    return -(-len(text.encode()) // 3)


def cut(text: str, tokens: int) -> str:
    """The beginning of a text that takes at most so many tokens."""
    if tokens_of(text) <= tokens:
        return text
    return text.encode()[: 3 * max(0, tokens - 1)].decode(errors="ignore") + CUT


@dataclass(frozen=True)
class ShortTerm:
    """The items in the order in which they came; `room` is the tokens that a model is shown of them."""

    room: int
    items: tuple[ShortTermItem, ...] = ()
    decay: float = DECAY
    threshold: float = THRESHOLD
    given: int = 0
    """How many labels were given so far."""

    def hold(self, found: Iterable[ShortTermItem]) -> ShortTerm:
        """With what was found: new items get a label, one that is there already is restored."""
        items, given = list(self.items), self.given
        for one in found:
            item = self._small(one)
            same = next((place for place, known in enumerate(items) if _same(known, item)), None)
            if same is not None:
                items[same] = replace(items[same], strength=1.0)
                continue
            given += 1
            items.append(replace(item, label=f"k{given}", strength=1.0))
        return replace(self, items=tuple(items), given=given)

    def recall(self, labels: Iterable[str]) -> ShortTerm:
        """With the strength of these restored, as a step has used them; unknown labels are passed over."""
        used = set(labels)
        return replace(self, items=tuple(replace(i, strength=1.0) if i.label in used else i for i in self.items))

    def fade(self) -> ShortTerm:
        faded = (i if i.kind in LASTING else replace(i, strength=i.strength * self.decay) for i in self.items)
        return replace(self, items=tuple(item for item in faded if item.strength >= self.threshold))

    def shown(self) -> tuple[ShortTermItem, ...]:
        """The items for a model, as far as there is room: what lasts, then the strongest items, later ones first."""
        ranked = sorted(enumerate(self.items), key=lambda one: (*_rank(one[1]), one[0]))
        left, places = self.room, set()
        for place, item in reversed(ranked):
            if item.tokens <= left:
                left -= item.tokens
                places.add(place)
        return tuple(item for place, item in enumerate(self.items) if place in places)

    def left_out(self) -> tuple[str, ...]:
        """The names of the items that there is no room for."""
        shown = {item.label for item in self.shown()}
        return tuple(item.name for item in self.items if item.label not in shown)

    def _small(self, item: ShortTermItem) -> ShortTermItem:
        room = self.room // (LARGEST_FAILED if item.kind == "failed answer" else LARGEST) - OVERHEAD
        title, about, source = cut(item.title, room // 4), cut(item.about, room // 4), item.source
        left = room - tokens_of(title) - tokens_of(about) - tokens_of(source)
        return replace(item, title=title, about=about, text=cut(item.text, max(left, room // 4)))


def _rank(item: ShortTermItem) -> tuple[int, float]:
    return (LASTING.index(item.kind) if item.kind in LASTING else -1, item.strength)


def _same(one: ShortTermItem, other: ShortTermItem) -> bool:
    return (one.kind, one.source, one.about, one.text) == (other.kind, other.source, other.about, other.text)


Sort = Literal["time", "score", "credibility"]
_KEYS: dict[Sort, SortKey] = {"time": "created", "score": "score", "credibility": "credibility"}


@dataclass
class Knowledge:
    """The pools of one task: `k` memories a search, 0 for a task that wants none, and never those in `not_shown`."""

    memory: MemoryClient
    pool: str
    k: int
    mode: Mode
    beside: tuple[str, ...] = ()
    kind: str | None = None
    not_shown: tuple[UUID, ...] = ()
    asked_by: str | None = None
    seconds: list[float] = field(default_factory=list)
    """How long each search took."""
    _version: int | None = None

    @property
    def retriever_version(self) -> int:
        """The version of the retriever that the last search used, or that is in use where there was none."""
        if self._version is None:
            nothing = RecallRequest(pool=self.pool, text="", k=0, new_pool=True)
            self._version = self.memory.recall(nothing).retriever_version
        return self._version

    def _sorted(self, conditions: Conditions, order: Order) -> list[ShortTermItem]:
        """The first memories that agents may be shown, in an order; by credibility pool by pool."""
        where = conditions.where(status="active", ids_not=self.not_shown)
        where = replace(where, credibility_from=max(FLOOR, where.credibility_from or 0.0))
        pools = (self.pool, *self.beside)
        found = [one for pool in pools for one in self.memory.first(replace(where, pool=pool), order, self.k)]
        if self.beside and order.by != "credibility":
            found.sort(key=lambda one: getattr(one, order.by) or 0.0, reverse=not order.ascending)
        return [_item(Found(memory=one, similarity=0.0)) for one in found[: self.k]]

    def search(self, text: str, among: Conditions, sort: Sort | None = None) -> list[ShortTermItem]:
        """The memories that are nearest to a text, best first; or with `sort` the first ones, whatever the text."""
        if self.k == 0:
            return []
        if sort is not None:
            return self._sorted(among, Order(_KEYS[sort]))
        wanted = RecallRequest(
            pool=self.pool,
            beside=self.beside,
            text=text,
            k=self.k,
            mode=self.mode,
            among=among.where(ids_not=self.not_shown),
            kind=self.kind,
            new_pool=True,
            asked_by=self.asked_by,
        )
        began = time.monotonic()
        recalled = self.memory.recall(wanted)
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
