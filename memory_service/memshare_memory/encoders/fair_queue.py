"""A queue that is fair: short work before long, and nobody's tenth piece of work before another's first."""

from __future__ import annotations

from collections import Counter
from heapq import heappop, heappush
from typing import Generic, NamedTuple, TypeVar

Work = TypeVar("Work")


class _Place(NamedTuple):
    due: float
    number: int
    owner: str
    cost: float


class FairQueue(Generic[Work]):
    """Work of several owners in the order in which it is due; not safe to share between threads.

    Work is due after its cost, once for itself and once for each piece that its owner has in the queue already. What is
    put in is due later than what was taken last, so that everything has its turn (self-clocked fair queueing, Golestani
    1994).
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[_Place, Work]] = []
        self._of: Counter[str] = Counter()
        self._clock = 0.0
        self._number = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, owner: str, cost: float, work: Work) -> None:
        """Add work; its cost is over 0, in the unit of `take`."""
        self._of[owner] += 1
        self._number += 1
        place = _Place(self._clock + cost * self._of[owner], self._number, owner, cost)
        heappush(self._waiting, (place, work))

    def take(self, most: float) -> list[Work]:
        """The work that is due first: one piece, and as much more as costs no more than `most` together."""
        taken: list[Work] = []
        spent = 0.0
        while self._waiting and (not taken or spent + self._waiting[0][0].cost <= most):
            place, work = heappop(self._waiting)
            self._clock = place.due
            self._of[place.owner] -= 1
            if not self._of[place.owner]:
                del self._of[place.owner]
            spent += place.cost
            taken.append(work)
        return taken
