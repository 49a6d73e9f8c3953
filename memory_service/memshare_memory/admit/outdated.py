"""Answers that were under way while what they were shown changed: they are stale from the start.

What is there already when a statement changes is marked then (`memshare_memory.curate.stale`).
"""

from __future__ import annotations

from collections.abc import Sequence

from memshare_broker.wire.messages import Shown
from memshare_memory.memory import Memory, saying
from memshare_memory.stores.store import Store, Where


def outdated(store: Store, pool: str, shown: Sequence[Shown], there: Sequence[Memory]) -> str | None:
    """Why what was written from these memories is stale; None where nothing has become of them. `there` are those left.

    It is where one is stale itself or was forgotten, and where a statement says something else. One in whose place
    the pool has a better pair with the same answer was not forgotten.
    """
    left = {memory.id: memory for memory in there}
    for one in shown:
        memory = left.get(one.id)
        if memory is None:
            if one.said is not None and not store.page(Where(pool=pool, saying=one.said), 1).memories:
                return f"the memory {one.id} was forgotten after it was shown"
        elif memory.status == "stale":
            return f"the memory {one.id} has become stale since it was shown"
        elif memory.is_statement and one.said not in (None, saying(memory.answer)):
            return f"the memory {one.id} was changed after it was shown"
    return None
