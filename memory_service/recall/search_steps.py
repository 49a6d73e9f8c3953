"""The searches that one recall takes, step by step, so that the recalls of many tasks can make theirs together."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memshare.memory_service.memory import SHOWN, Memory, Mode, Status, folded
from memshare.memory_service.recall.feedback import Way
from memshare.memory_service.recall.select_shown import choose, used_up
from memshare.memory_service.stores.store import Hit, Where

SPARE = 2  # memories looked at for each one that is shown, as some have the same prompt


@dataclass(frozen=True)
class Wanted:
    """What is to be recalled: the k best memories of a pool for a text with this vector, of shape (dimension,).

    `among` narrows, whatever pool it names; what is hidden or stale is never shown. `model` is who
    is to answer, and `kind` the kind of task (`memshare.memory_service.recall.balance`). `submitter` is whose task it
    is, where what came of the same task of theirs is not to be shown.
    """

    pool: str
    text: str
    vector: NDArray[np.float32]
    k: int
    mode: Mode = "dense"
    among: Where = field(default_factory=Where)
    model: str | None = None
    kind: str | None = None
    submitter: str | None = None
    feedback: Way | None = None
    """Which feedback is to be used; None: the pool's."""

    @property
    def where(self) -> Where:
        """The memories that may be shown."""
        return replace(self.among, pool=self.pool, status=_shown(self.among))

    def is_twin(self, memory: Memory) -> bool:
        """Whether a memory came of this very task, submitted before: it would be an example for itself."""
        own = memory.task_id is not None and memory.submitter == self.submitter
        return own and memory.prompt is not None and folded(memory.prompt) == folded(self.text)


class Search(NamedTuple):
    """One search: which memories, and how many at most."""

    where: Where
    limit: int


class Ranked(NamedTuple):
    """What a search found that may be shown, best first; `is_all` where the store has no more of it."""

    hits: list[Hit]
    is_all: bool


def _shown(among: Where) -> Sequence[Status]:
    """Those of the statuses that are meant with which memories are shown."""
    if among.status is None:
        return SHOWN
    meant = [among.status] if isinstance(among.status, str) else among.status
    return [one for one in SHOWN if one in meant]


def search_steps(wanted: Wanted, submitter_share: float) -> Generator[Search, Ranked | None, list[Hit]]:
    """Gives a search, is sent what it found, and so on; returns the memories to show, best first.

    At most `submitter_share` of them come from one submitter where there are others.
    """
    k = wanted.k
    if k == 0:
        return []
    statuses = _shown(wanted.among)
    base = Search(wanted.where, SPARE * k)
    first: Ranked | None = None
    shown: list[Hit] = []
    seen: list[Hit] = []
    # Where there are no others, one submitter may fill the places that are left.
    for each in (max(1, int(k * submitter_share)), k):
        search = base
        shown = choose([*shown, *seen], k, each)
        while len(shown) < k:
            found = first if search is base and first else (yield search)
            if found is None:
                raise TypeError("A search is answered by what it found.")
            first = first or found
            seen += found.hits
            shown = choose([*shown, *found.hits], k, each)
            if found.is_all:
                break
            full, no_newcomer = used_up(shown, each)
            left = [one for one in statuses if one != "probation"] if no_newcomer else statuses
            narrower = replace(base.where, status=left, submitter_not=full)
            search = Search(narrower, SPARE * (search.limit if narrower == search.where else k))
        if not search.where.submitter_not:
            break  # nobody was left out, so all there is has been seen
    return choose([*shown, *seen], k, k)
