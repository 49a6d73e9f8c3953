"""A memory that a person changed gets the score of what it says now."""

from __future__ import annotations

from uuid import UUID

import redis

from memshare_broker.delivery.stage import Outcome
from memshare_broker.wire.grades import GradedTask, Settlement
from memshare_memory.admit.seeds import note_seeds
from memshare_memory.pool.pool import Pool
from memshare_memory.stores.store import Where


def regrade(pool: Pool, client: redis.Redis, graded: GradedTask, memory: UUID) -> Outcome:
    """Write the score to the memory, if it says what was graded; a score that is too low hides it.

    One that was stale is not so any more.
    """
    task, score = graded.task, graded.score
    with pool.writing(alone_in=task.pool) as recall:
        found = recall.store.page(Where(ids=[memory]), 1).memories
        before = found[0] if found else None
        if before is None or (before.prompt, before.answer) != (task.prompt, task.answer):
            reason = "the memory is gone, or says something else by now"
            return Outcome(Settlement(memory_id=memory, outcome="not kept", reason=reason), ended="not kept")
        changes: dict[str, object] = {
            "score": score.total,
            "criteria": score.criteria,
            "rubric_version": score.rubric_version,
        }
        if not score.accepted:
            changes["status"] = "hidden"
        elif before.status == "stale":
            changes["status"] = "active"
        changed = before.model_copy(update=changes)
        recall.store.put([(changed, recall.vectors([changed])[0])], in_place=True)
    note_seeds(client, pool().store, there=[changed], gone=[before])
    if score.accepted:
        settlement = Settlement(memory_id=memory, outcome="stored", reason=f"it was graded again: {score.total:.1f}")
    else:
        reason = f"it was graded again: {score.total:.1f} is below the threshold {score.threshold:.1f}, so it is hidden"
        settlement = Settlement(memory_id=memory, outcome="rejected", reason=reason)
    return Outcome(settlement, ended=settlement.outcome)
