"""A task as Celery hands it to a worker, read as what the ledger knows of it and the message that its stage takes."""

from __future__ import annotations

from typing import Any

from pydantic import JsonValue, ValidationError

from memshare_broker.delivery.dead_letters import unreadable
from memshare_broker.delivery.entry import Entry
from memshare_broker.delivery.stage import M, Stage
from memshare_broker.errors import GiveUp
from memshare_broker.wire.checking import readable
from memshare_broker.wire.signing import SIGNATURE

DUE = "memshare_due"
"""Header of a task that came with a time at which it is to run: that time, as Unix time in seconds."""
EXPIRES = "memshare_expires"
"""Header of a task that came with a time after which it is not to be begun any more: that time.

Both are for tasks with the option `keeps_time`, in place of Celery's `eta` and `expires`.
"""


def read_message(
    request: Any, stage: Stage[M], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Entry, M | None, GiveUp | None]:
    """The entry of a message and what it says; or, in place of that, why it cannot be read."""
    queue = (request.delivery_info or {}).get("routing_key") or "unknown"
    if len(args) != 1 or kwargs or not isinstance(args[0], dict):
        entry = unreadable({"args": args, "kwargs": kwargs}, queue, request.id)
        return entry, None, GiveUp(f"{stage.task} takes one JSON object as its only argument.")
    try:
        entry = _entry(request, stage, args[0], queue)
    except ValidationError as error:
        return unreadable(args[0], queue, request.id), None, GiveUp(readable(error, stage.task))
    try:
        return entry, stage.message.model_validate(args[0]), None
    except ValidationError as error:
        return entry, None, GiveUp(readable(error, stage.task))


def _entry(request: Any, stage: Stage[M], body: dict[str, JsonValue], queue: str) -> Entry:
    return Entry(
        id=request.id,
        task=stage.task,
        queue=queue,
        body=body,
        journey=_journey_of(stage, body) or request.id,
        stage=stage.name,
        priority=_priority(request),
        begins=stage.begins,
        has_result=stage.has_result,
        decides=stage.kept is not None,
        expires=request.get(EXPIRES),
        signature=getattr(request, SIGNATURE, None),
    )


def _journey_of(stage: Stage[M], body: Any) -> str | None:
    """The journey that a message names, also where the message is otherwise wrong; None if it names none."""
    if not stage.journey_at:
        return None
    for name in stage.journey_at:
        body = body.get(name) if isinstance(body, dict) else None
    return body if isinstance(body, str) and body else None


def _priority(request: Any) -> int:
    priority = (request.delivery_info or {}).get("priority")
    return priority if isinstance(priority, int) and 0 <= priority <= 9 else 3
