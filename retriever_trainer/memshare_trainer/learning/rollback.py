"""Going to another version of a retriever, and setting aside what was learnt after it."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from memshare_broker.errors import BadInput
from memshare_trainer.learning.adapter_state import State
from memshare_trainer.learning.rewriting import put_back
from memshare_trainer.lessons.lesson_log import LessonLog


class RolledBack(NamedTuple):
    """The version that was in use, the one that is, and how many lessons were set aside and brought back."""

    before: int
    version: int
    set_aside: int
    brought_back: int


def roll_back(log: LessonLog, to: int | None) -> RolledBack:
    """Put a version into use again, by default the one before the present one; 0 is the untrained retriever.

    Learning goes on from there. The lessons that came after the version are set aside; going forward again brings them
    back. Raises `BadInput` for a version that is not kept.
    """
    with log.lease() as fence:
        head, kept = log.head(), [0, *log.versions()]
        earlier = [version for version in kept if version < head.version]
        if to is None and not earlier:
            raise BadInput(f"The retriever of pool {log.pool!r} has no earlier version: none has been published yet.")
        version = earlier[-1] if to is None else to
        if version not in kept:
            numbers = ", ".join(map(str, kept))
            raise BadInput(f"Pool {log.pool!r} has no retriever version {version}. There are: {numbers}.")
        published = log.published(version)
        checkpoint = ""
        if published:
            state = State.start(published.dimension).knowing(published.worth)
            own = np.array([published.worth[name] for name in state.submitters], np.float32)
            state = replace(state, weights=published.unpack(), worth=own)
            checkpoint = state.pack()
        lessons = published.lessons if published else 0
        if version == head.issued:  # no later version was learnt from the lessons after it
            lessons = head.counted
        set_aside, brought_back = put_back(log, fence, version, lessons, checkpoint)
        return RolledBack(head.version, version, set_aside, brought_back)
