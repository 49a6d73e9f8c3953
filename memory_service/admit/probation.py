"""Probation: a new memory must help other tasks before it counts in full, so that one answer poisons little.

While on probation it is at most one of the memories that a task is shown, and no lesson has it as a good example.
"""

from __future__ import annotations

from memshare.broker.wire.messages import AnsweredTask
from memshare.memory_service.memory import Memory, Status, Voucher

OTHER_SUBMITTERS, OTHER_TASKS = 2, 3


def vouched(memory: Memory, task: AnsweredTask, *, alone: bool) -> Memory:
    """The memory on probation after an accepted task that was shown it; active once enough speaks for it.

    Enough is tasks of two other submitters, or three tasks. The submitter's own count where they are `alone`: where
    nobody else's tasks make memories of the pool. The same task counts once.
    """
    if task.submitter == memory.submitter and not alone:
        return memory
    voucher = Voucher(submitter=task.submitter, task_id=task.journey)
    return _judged(memory, tuple(dict.fromkeys((*memory.vouchers, voucher))))


def without(memory: Memory, submitter: str) -> Memory:
    """The memory without what this submitter's tasks said for it: on probation again where that decided."""
    left = tuple(one for one in memory.vouchers if one.submitter != submitter)
    return memory if left == memory.vouchers or memory.status == "hidden" else _judged(memory, left)


def with_vouchers(memory: Memory, vouchers: tuple[Voucher, ...]) -> Memory:
    """The memory with vouchers that had been taken from it."""
    kept = tuple(dict.fromkeys((*memory.vouchers, *vouchers)))
    return memory if kept == memory.vouchers or memory.status == "hidden" else _judged(memory, kept)


def _judged(memory: Memory, vouchers: tuple[Voucher, ...]) -> Memory:
    others = {one.submitter for one in vouchers} - {memory.submitter}
    trusted = len(others) >= OTHER_SUBMITTERS or len(vouchers) >= OTHER_TASKS
    status: Status = memory.status if memory.status == "stale" else "active" if trusted else "probation"
    return memory.model_copy(update={"vouchers": vouchers, "status": status})


def standing(memory: Memory, new: Status) -> Status:
    """The status of a memory that was found good again; `new` is that of a new one that nobody has vouched for."""
    if memory.task_id is None:
        return "active"  # a person brought it in
    fresh = memory.model_copy(update={"status": new})
    return new if new == "active" else _judged(fresh, memory.vouchers).status
