"""Answered tasks, as agents send them to the scorer."""

from __future__ import annotations

import numpy as np

from memshare_broker.wire.messages import AgentPair, Embedding, SeedPair


def a_task(rubric: str) -> AgentPair:
    """A travel plan of the agent `plan`, to be graded by this rubric."""
    return AgentPair(
        journey="journey-1",
        agent="plan",
        kind="travel",
        pool="plan",
        rubric=rubric,
        prompt="Two days in Rome",
        answer="Walk.",
        model="scripted",
        submitter="ada",
        shown=(),
        embedding=Embedding.pack("test", np.zeros(2, dtype=np.float32)),
    )


def a_seed(rubric: str) -> SeedPair:
    """The same as a standard answer."""
    of_agent = set(AgentPair.model_fields) - set(SeedPair.model_fields)
    return SeedPair(**a_task(rubric).model_dump(exclude=of_agent | {"what", "model", "embedding"}))
