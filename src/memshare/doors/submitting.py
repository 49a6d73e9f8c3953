"""Submitting: a task for an agent of memshare."""

from __future__ import annotations

from uuid import uuid4

from memshare.client.errors import Conflict
from memshare.client.replies import Accepted
from memshare.doors.audit import audit
from memshare.doors.backend import Backend
from memshare.doors.caller import Caller
from memshare.doors.forms import TaskForm
from memshare_broker.delivery.entry import Entry
from memshare_broker.wire.messages import derived_id


def submit(backend: Backend, caller: Caller, form: TaskForm) -> Accepted:
    """Hand a task to an agent; it is written down when this returns. Idempotency keys are as in `offer`."""
    caller.require("submit")
    backend.checked_text(form.text)
    card = backend.agent(caller, form.agent)
    backend.check_caps(card.name, caller.name)
    body = form.model_dump(mode="json", exclude={"agent", "priority", "idempotency_key"}, exclude_none=True)
    key = form.idempotency_key
    task_id = str(uuid4() if key is None else derived_id("task", caller.name, key))
    entry = backend.client.entry_of(card.name, {**body, "submitter": caller.name}, form.priority, task_id)
    backend.client.send(entry)
    if key is not None:
        require_same(backend, entry, key)
    audit(caller, "submit", journey=task_id, agent=card.name, pool=card.pool)
    return Accepted(id=task_id, journey=f"/v1/journeys/{task_id}")


def require_same(backend: Backend, entry: Entry, key: str) -> None:
    """Raise `Conflict` where the journey of a message was begun by one that says something else."""
    with backend.reaching():
        task = backend.client.ledger.journey(entry.journey).get("task")
    if task is not None and task.get("body") != entry.body:
        raise Conflict(f"The idempotency key {key!r} was used for another request. Give this one a key of its own.")
