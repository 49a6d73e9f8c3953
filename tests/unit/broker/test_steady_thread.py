"""Work that goes on whatever fails."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import pytest
import redis

from memshare_broker import steady_thread
from memshare_broker.steady_thread import repeat


def failing(ended: threading.Event, *errors: Exception | None) -> Callable[[], None]:
    """A step that fails with these in turn, where there is one, and then ends."""
    left = list(errors)

    def step() -> None:
        if not left:
            ended.set()
        elif error := left.pop(0):
            raise error

    return step


def told(caplog: pytest.LogCaptureFixture) -> list[tuple[str, bool]]:
    return [(one.levelname, bool(one.exc_info)) for one in caplog.records if one.name == steady_thread.__name__]


def test_an_outage_is_told_once_and_so_is_its_end(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    ended = threading.Event()
    away = redis.ConnectionError("away")

    repeat("thread", failing(ended, away, away, None, OSError("full"), None), ended)

    assert told(caplog) == [("WARNING", False), ("INFO", False)] * 2


def test_a_bug_ends_nothing_and_is_told_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    ended = threading.Event()

    repeat("thread", failing(ended, ValueError("a bug")), ended)

    assert told(caplog)[0] == ("WARNING", True)


def test_pauses_grow_up_to_a_limit_and_begin_anew() -> None:
    waited: list[float] = []

    class Noted(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            waited.append(timeout or 0)
            return self.is_set()

    ended = Noted()
    away = [redis.ConnectionError("away")] * 12

    repeat("thread", failing(ended, *away, None, away[0]), ended, every=7, delay=3)

    pauses = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, *[5.0] * 6]
    assert waited == pytest.approx([3, *pauses, 7, 0.1, 7])


def test_what_is_told_to_end_takes_no_further_step() -> None:
    ended, steps = threading.Event(), []
    ended.set()

    repeat("thread", lambda: steps.append(1), ended)

    assert steps == []
