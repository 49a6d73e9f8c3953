"""How children are started."""

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from memshare_broker.child_processes import signals_wait


@pytest.fixture(autouse=True)
def _sigterm_raises() -> Iterator[None]:
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_child_is_started_comes_once_it_is(sign: signal.Signals) -> None:
    started: list[Any] = []

    def start() -> None:
        with signals_wait():
            os.kill(os.getpid(), sign)
            started.append("the child")

    with pytest.raises(KeyboardInterrupt):
        start()

    assert started == ["the child"]
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(sign)


def test_a_signal_that_is_ignored_stays_so_for_the_child_too() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

    with signals_wait():
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_IGN


def test_another_thread_than_the_first_starts_children_as_well() -> None:
    came = []

    def start() -> None:
        with signals_wait():
            came.append(True)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()

    assert came == [True]
