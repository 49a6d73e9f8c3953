"""What who waits for a task is told, as Celery would store it, for a script to store in one step with the record."""

from __future__ import annotations

from typing import Any

from celery import Celery
from celery.exceptions import TaskRevokedError
from celery.states import REVOKED, SUCCESS

from memshare_broker.delivery.entry import CeleryResult
from memshare_broker.wire.messages import Record


def success(app: Celery, task_id: str, record: Record, request: Any) -> CeleryResult:
    """What a task did; `request` is Celery's."""
    return _result(app.backend, task_id, record, SUCCESS, request)


def revoked(app: Celery, task_id: str, why: str) -> CeleryResult:
    """That a task was cancelled."""
    backend: Any = app.backend
    return _result(backend, task_id, backend.prepare_exception(TaskRevokedError(why)), REVOKED, None)


def _result(backend: Any, task_id: str, value: Any, state: str, request: Any) -> CeleryResult:
    meta = backend._get_result_meta(result=value, state=state, traceback=None, request=request)
    meta["task_id"] = task_id
    key = backend.get_key_for_task(task_id)
    return CeleryResult(
        key.decode() if isinstance(key, bytes) else key, str(backend.encode(meta)), int(backend.expires or 0)
    )
