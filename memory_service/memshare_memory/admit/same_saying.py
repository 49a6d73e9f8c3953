"""What the pool has that says the same as a new memory: it stays, unless it is the submitter's own and not as good."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memshare_memory.memory import Memory, saying
from memshare_memory.stores.store import Store, Where, search_one

NEAR_DUPLICATE = 0.98  # cosine of the prompts
SAME_ANSWERS = 10  # of the pool, nearest prompt first


def same_in_pool(store: Store, memory: Memory, vector: NDArray[np.float32]) -> list[Memory]:
    """The memories with the same answer to the same prompt, and what has the new one's id, whatever it says by now."""
    same = search_one(store, Where(pool=memory.pool, saying=saying(memory.answer)), SAME_ANSWERS, dense=vector)
    found = {hit.memory.id: hit.memory for hit in same if hit.similarity >= NEAR_DUPLICATE}
    found |= {one.id: one for one in store.page(Where(ids=[memory.id]), 1).memories}
    return list(found.values())


def that_stands(memory: Memory, rivals: Sequence[Memory]) -> Memory | None:
    """The one of some memories that say the same which stays in place of the new one, if one does.

    What others submitted stays, and what a person has brought in, changed or hidden. Of the submitter's own the best
    stays, if it is at least as good; a stale one is worse than any.
    """
    staying = [rival for rival in rivals if rival.submitter != memory.submitter or is_a_persons(rival)]
    if staying:
        return max(staying, key=lambda rival: rival.score or 0)
    able = [rival for rival in rivals if rival.status != "stale"]
    best = max(able, key=lambda rival: rival.score or 0, default=None)
    is_as_good = best is not None and (memory.status == "stale" or (best.score or 0) >= (memory.score or 0))
    return best if is_as_good else None


def is_a_persons(memory: Memory) -> bool:
    """Whether a person brought it in, changed it or hid it: no answer of a task takes its place."""
    return memory.task_id is None or memory.score is None or bool(memory.history) or memory.status == "hidden"


def why_it_stands(rival: Memory) -> str:
    """What the journey of the new one says."""
    graded = f", with a score of {rival.score:.1f}" if rival.score is not None else ", from a person"
    is_not_shown = "" if rival.status == "active" else f"; it is {rival.status}"
    return f"the pool has it already{graded}{is_not_shown}"
