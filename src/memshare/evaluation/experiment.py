"""An experiment: what it asks, which copies of the agents it needs, and what it does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from memshare.evaluation.data import DataItem, Split
from memshare.evaluation.lab import Lab
from memshare.evaluation.variants import Label

TOWN = Path(__file__).parent / "town"
"""A fictional town: documents about it, questions that take several of them, and facts that can change."""

OWN = Label("own", lambda pool, number: f"{pool}-{number}")
"""Each model with pools of its own, a pool for each domain."""
NO_MEMORIES = "0 memories"


class Bundled(NamedTuple):
    """Questions and documents that come with an experiment."""

    questions: str
    documents: bool = False
    """True if agents may read the documents."""
    needs: tuple[str, ...] = ()
    """Fields that each line must have beside a prompt and an answer."""
    split: bool = False
    """True if there are seeds and queries, as in other experiments; else all are asked."""

    def takes(self, item: DataItem) -> bool:
        """True if it asks a line of a file that experiments share: statements are for experiments that need them."""
        if self.needs:
            return item.statement is not None
        return self.split or (item.statement is None and item.prompt is not None)


class Times(NamedTuple):
    """How often something is done for each item of the parts of the data, for each model."""

    test: float = 0
    queries: float = 0
    seeds: float = 0

    def of(self, parts: Split) -> int:
        """How often it is done on these parts."""
        return round(self.test * len(parts.test) + self.queries * len(parts.queries) + self.seeds * len(parts.seeds))


class Experiment(NamedTuple):
    """An experiment. `labels` gives the kinds of copies for a number of models."""

    name: str
    title: str
    question: str
    method: str
    run: Callable[[Lab], None]
    asked: Times
    """Answers."""
    labels: Callable[[int], Sequence[Label]] = lambda _: [OWN]
    baseline: str = NO_MEMORIES
    """The condition that the others are compared with, pair by pair."""
    settled: Times = Times()
    """Answers that become memories when others have been given, each with a lesson where something learns."""
    remembered: Times = Times()
    """Answers of `asked` that become memories at once, each with a lesson."""
    lessons: Times = Times()
    """Lessons of a pool, at most: of the items that it takes in."""
    by_phase: bool = False
    """True if the chart goes over phases; else over conditions."""
    learns: bool = False
    """True if the trainer is at work on its pools, unless the learning is switched off."""
    least_models: int = 1
    """How many models it takes to say anything."""
    bundled: Bundled | None = None
    """The questions it asks where no other data is given."""

    @property
    def needs(self) -> tuple[str, ...]:
        """Fields that each line must have beside a prompt and an answer."""
        return self.bundled.needs if self.bundled else ()
