"""What a trace tells of a stage: who works for whom, and how it ended."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from memshare_broker.delivery.entry import Entry
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.observe import tracing
from memshare_broker.wire.messages import Message, Usage


def run(request: Any, entry: Entry, message: Message) -> AbstractContextManager[None]:
    """The span of one run of a stage; `request` is Celery's."""
    pair = getattr(message, "task", message)  # a graded pair has the task in it
    agent = entry.queue if _is_first(entry) else getattr(pair, "agent", None)
    name = f"{entry.stage} {agent}" if _is_first(entry) else entry.stage
    about = {
        "messaging.system": "redis",
        "messaging.destination.name": entry.queue,
        "messaging.message.id": entry.id,
        "memshare.agent": agent,
        "memshare.kind": getattr(pair, "kind", None),
    }
    client = request.get("traceparent") or (request.headers or {}).get("traceparent")
    return tracing.stage(entry.journey, name, {"traceparent": str(client)} if client else {}, about)


def ended(
    ledger: Ledger, entry: Entry, outcome: str, *, first: bool, usage: Usage | None = None, reason: str | None = None
) -> None:
    """Tell the span of a run how it ended, and export the root of the trace when the task has been answered: once, by
    the run of the message that was first."""
    about = {"memshare.outcome": outcome, "memshare.reason": reason, **tracing.tokens(usage)}
    tracing.note(about)
    if first and _is_first(entry):
        tracing.root(entry.journey, f"task {entry.queue}", lambda: ledger.submitted(entry.journey), about)


def _is_first(entry: Entry) -> bool:
    """Whether a journey begins with this very message, which gave it its id."""
    return entry.id == entry.journey
