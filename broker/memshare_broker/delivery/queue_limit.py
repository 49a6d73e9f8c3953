"""Builds the error for a full queue."""

from __future__ import annotations

from memshare_broker.errors import QueueFull

COME_BACK = (5.0, 600.0)  # seconds; the least and the most that a full queue asks to wait


def queue_full(queue: str, limit: int, length: int, pace: int) -> QueueFull:
    """`pace` is how many messages of the queue ended in a minute: what frees a tenth of it is worth waiting for."""
    shortest, longest = COME_BACK
    wait = min(max(60 * limit / 10 / pace, shortest), longest) if pace else 60.0
    return QueueFull(
        f"The queue {queue!r} is full: {length:,} messages are open, and {limit:,} is the limit "
        f"(MEMSHARE_QUEUE_LIMIT). Come back in {wait:.0f} s, or start more workers for it.",
        wait,
        length,
    )
