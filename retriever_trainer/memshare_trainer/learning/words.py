"""Who said something of which memory: what counts for the worth of submitters, and how much."""

from __future__ import annotations

from collections import Counter
from uuid import UUID

import numpy as np

from memshare_trainer.learning.proof import People
from memshare_trainer.lessons.example import Example


class Words:
    """How often each person spoke of each memory, in the examples that a learner keeps.

    Words about one's own memories, or those of one's group, count only where nobody else speaks in the pool: alone, one
    loses nothing by that. They prove nobody.
    """

    def __init__(self, people: People | None = None) -> None:
        self.people = people or People()
        self._said: Counter[tuple[str, UUID]] = Counter()
        self._people: Counter[str] = Counter()
        self._once: Counter[tuple[str, str]] = Counter()  # submitter, and who speaks of them

    def add(self, example: Example) -> None:
        """Count what an example says."""
        self._change(example, 1)

    def remove(self, example: Example) -> None:
        """Count it no more."""
        self._change(example, -1)

    def _change(self, example: Example, by: int) -> None:
        self._people[example.by] += by
        if not self._people[example.by]:
            del self._people[example.by]
        for memory, submitter in _said(example):
            word = (example.by, memory)
            before = self._said[word]
            self._said[word] += by
            if not self._said[word]:
                del self._said[word]
            if not before or word not in self._said:
                self._once[submitter, example.by] += by

    def share(self, by: str, memory: UUID, submitter: str) -> float:
        """How much one time of saying it counts for what the submitter is worth, 0 to 1."""
        if self._is_own(by, submitter) and len(self._people) > 1:
            return 0.0
        return 1 / max(self._said[by, memory], 1)

    def of_submitters(self) -> dict[str, int]:
        """How many words count for each submitter, each person's about a memory once."""
        alone = len(self._people) <= 1
        found: Counter[str] = Counter()
        for (submitter, by), count in self._once.items():
            found[submitter] += count if alone or not self._is_own(by, submitter) else 0
        return {name: count for name, count in found.items() if count}

    def _is_own(self, by: str, submitter: str) -> bool:
        return self.people.group(by) == self.people.group(submitter)

    @property
    def total(self) -> int:
        """How many there are in all, each time of saying them counted."""
        return self._said.total()


def _said(example: Example) -> list[tuple[UUID, str]]:
    known = ~np.isnan(example.gains)
    pairs = zip(example.ids, example.submitters, strict=True)
    return [pair for pair, is_known in zip(pairs, known, strict=True) if is_known]
