"""What a process still has to do before it ends in an orderly way."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from typing import Any

from celery import signals

_steps: list[Callable[[], None]] = []


def before_the_end(step: Callable[[], None]) -> None:
    """Have a step taken when this process, or a child that it forks for its tasks, ends in an orderly way."""
    if not _steps:
        atexit.register(take_last_steps)
        signals.worker_process_shutdown.connect(_in_child, weak=False)  # which ends without `atexit`
    _steps.append(step)


def take_last_steps() -> None:
    """Take the steps, each once."""
    while _steps:
        _steps.pop()()


def _in_child(**_: Any) -> None:
    take_last_steps()
