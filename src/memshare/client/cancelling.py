"""Ending a task before it is through: it is not begun, or what comes after its stage does not come."""

from __future__ import annotations

import time
from typing import Literal

from celery import Celery

from memshare_broker.delivery.celery_result import revoked
from memshare_broker.delivery.entry import Cancelled
from memshare_broker.delivery.hops import HOPS
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.wire.messages import derived_id

Cancelling = Literal["cancelled", "running", "ended", "unknown"]
"""What became of the wish: "running" is a stage that goes on, after which nothing follows."""


def cancel_journey(ledger: Ledger, app: Celery, journey: str, why: str) -> Cancelling:
    """End the journey of a task, wherever its message is: in a queue, beside it, or at a worker."""
    messages = [journey, *(str(derived_id(journey, hop.name)) for hop in HOPS if hop.journey_at)]
    done: set[str] = set()
    for _ in messages:  # a stage may end while it is looked at, and another begin: at most so many
        reached = {
            entry.id: ledger.cancel(
                entry, Cancelled(at=time.time(), why=why), revoked(app, entry.id, why) if entry.has_result else None
            )
            for entry in ledger.open_of(messages)
            if entry.journey == journey
        }
        done.update(reached.values())
        if "ended" not in reached.values():
            break
    if "running" in done:
        return "running"
    if "cancelled" in done:
        return "cancelled"
    return "ended" if ledger.journey(journey) else "unknown"
