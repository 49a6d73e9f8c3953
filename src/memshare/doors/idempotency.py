"""Idempotency keys: a key stands for one request, and another one under it is refused."""

from __future__ import annotations

from memshare.client.errors import Conflict
from memshare.doors.backend import Backend
from memshare_broker.delivery.entry import Entry


def require_same(backend: Backend, entry: Entry, key: str) -> None:
    """Raise `Conflict` where the journey of a message was begun by one that says something else."""
    with backend.reaching():
        task = backend.client.ledger.journey(entry.journey).get("task")
    if task is not None and task.get("body") != entry.body:
        raise Conflict(f"The idempotency key {key!r} was used for another request. Give this one a key of its own.")
