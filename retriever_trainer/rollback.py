"""Going back to an earlier version of a retriever, and setting aside what was learnt since."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import NamedTuple

from memshare.broker.errors import BadInput
from memshare.retriever_trainer.adapter_state import State
from memshare.retriever_trainer.lesson_log import LessonLog


class RolledBack(NamedTuple):
    """What a rollback did: the version that was in use, the one that is, and how many lessons were set aside."""

    before: int
    version: int
    set_aside: int


def roll_back(log: LessonLog, to: int | None) -> RolledBack:
    """Put a version into use again, by default the one before the present one; 0 is the untrained retriever.

    Learning goes on from there, without the lessons that came after it. Raises `BadInput` for a version that is
    not kept.
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
        lessons = published.lessons if published else 0
        later = [one.number for one in (*log.lessons(), *log.held_out()) if one.number > lessons]
        checkpoint = ""
        if published:
            state = replace(State.start(published.dimension), weights=published.unpack())
            checkpoint = base64.b64encode(state.pack()).decode()
        log.go_back(fence, version, later, checkpoint)
        return RolledBack(head.version, version, len(later))
