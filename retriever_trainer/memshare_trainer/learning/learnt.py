"""What a learner has come to: its state, and what each submitter is worth (`memshare_trainer.learning.proof`: who is
proven)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from memshare_memory.recall.adapter import Adapter, PublishedAdapter
from memshare_memory.recall.standings import Standing, Standings
from memshare_trainer.learning.adapter_state import PRIOR, State
from memshare_trainer.learning.words import Words

WORDS = 4  # after which the error is PRIOR / √2


class LearntRetriever(NamedTuple):
    """Where learning goes on from, and what is known of submitters."""

    state: State
    standings: Standings

    @classmethod
    def of(cls, state: State, words: Words) -> LearntRetriever:
        """The worth of submitters of whom something was said is told beside their mean, each counted by the words."""
        said = words.of_submitters()
        worth = {name: float(of) for name, of in zip(state.submitters, state.worth, strict=True) if said.get(name)}
        mean = np.average(list(worth.values()), weights=[said[name] for name in worth]) if worth else 0
        found = {}
        for name in sorted(worth):
            beside, error = worth[name] - float(mean), PRIOR / (1 + said[name] / WORDS) ** 0.5
            found[name] = Standing(worth=beside, error=error, words=said[name])
        return cls(state, Standings(submitters=found))

    def adapter(self, version: int = 0) -> Adapter:
        """The adapter that it is."""
        return Adapter.of(version, self.state.weights, self.standings.worth)

    def published(self, version: int, encoder: str, **known: Any) -> PublishedAdapter:
        """The same as a version, with what is `known` of it beside."""
        return PublishedAdapter.pack(version, encoder, self.state.weights, self.standings.worth, **known)
