from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis

from memshare.broker.errors import TryAgain
from memshare.memory_service.pool import write_gate as gate
from memshare.memory_service.pool.write_gate import WriteGate
from tests.support.deployment import wait_for


@pytest.fixture
def gates(redis_client: redis.Redis) -> tuple[WriteGate, WriteGate]:
    """Of two processes."""
    return WriteGate(redis_client), WriteGate(redis_client)


def test_many_write_at_once(gates: tuple[WriteGate, WriteGate]) -> None:
    with gates[0].writing(), gates[0].writing(), gates[1].writing():
        pass


def test_who_closes_waits_for_those_who_write(gates: tuple[WriteGate, WriteGate]) -> None:
    closed = threading.Event()

    def close() -> None:
        with gates[1].closed():
            closed.set()

    with ThreadPoolExecutor(1) as threads:
        with gates[0].writing():
            done = threads.submit(close)
            assert not closed.wait(0.3)
        done.result(10)


def test_who_writes_waits_while_it_is_closed(gates: tuple[WriteGate, WriteGate]) -> None:
    wrote = threading.Event()

    def write() -> None:
        with gates[1].writing():
            wrote.set()

    with ThreadPoolExecutor(1) as threads:
        with gates[0].closed():
            done = threads.submit(write)
            assert not wrote.wait(0.3)
        assert done.result(10) is None
        assert wrote.is_set()


def test_only_one_closes(gates: tuple[WriteGate, WriteGate]) -> None:
    with gates[0].closed(), pytest.raises(TryAgain, match="Another process is moving the pool"), gates[1].closed():
        pytest.fail("two have closed it")

    with gates[1].closed():
        pass


def test_a_writer_that_was_killed_is_not_waited_for_for_ever(
    gates: tuple[WriteGate, WriteGate], redis_client: redis.Redis
) -> None:
    now = redis_client.time()[0]
    redis_client.zadd(gate.WRITERS, {"killed a minute ago": now - 1, "killed just now": now + 1})

    with gates[0].closed():
        assert redis_client.time()[0] >= now + 1


def test_a_writer_does_not_wait_for_ever(
    gates: tuple[WriteGate, WriteGate], monkeypatch: pytest.MonkeyPatch, redis_client: redis.Redis
) -> None:
    monkeypatch.setattr(gate, "PATIENCE", 0.1)
    with gates[0].closed(), pytest.raises(TryAgain, match="being moved"), gates[1].writing():
        pytest.fail("it was closed")

    wait_for(lambda: not redis_client.exists(gate.CLOSED), 5, "the gate to open")


def test_a_writer_at_a_closed_gate_says_when_it_comes_back(gates: tuple[WriteGate, WriteGate]) -> None:
    with gates[0].closed(), pytest.raises(TryAgain, match="being moved") as later, gates[1].writing():
        pytest.fail("it was closed")

    assert later.value.wait == gate.COME_BACK


def test_who_closed_it_learns_that_others_write_again(
    gates: tuple[WriteGate, WriteGate], redis_client: redis.Redis
) -> None:
    with gates[0].closed() as alive:
        alive()
        redis_client.delete(gate.CLOSED)  # as happens to a process that was stopped for too long
        with pytest.raises(TryAgain, match="Run it again"):
            alive()
