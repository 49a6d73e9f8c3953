"""Learning a whole log again, for an encoder whose vectors no adapter has seen."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
from numpy.typing import NDArray

from memshare.retriever_trainer.accuracy import Example
from memshare.retriever_trainer.adapter_state import State
from memshare.retriever_trainer.learner import REPLAYED
from memshare.retriever_trainer.learning import step


def relearn(lessons: Sequence[Example], dimension: int) -> NDArray[np.float32]:
    """The weights that an adapter comes to, one step a lesson with replay, in half precision."""
    drawn, state = Random(0), State.start(dimension)
    for count, lesson in enumerate(lessons):
        state = step(state, [lesson, *drawn.sample(lessons[:count], min(REPLAYED, count))])
    return state.weights.astype(np.float16).astype(np.float32)
