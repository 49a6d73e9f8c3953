"""Answered tasks, as agents send them to the scorer."""

from __future__ import annotations

import numpy as np

from memshare_broker.wire.messages import AnsweredTask, Embedding


def a_task(rubric: str) -> AnsweredTask:
    """A travel plan of the agent `plan`, to be graded by this rubric."""
    return AnsweredTask(
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
