from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import pytest
import redis

from memshare_broker.errors import TryAgain
from memshare_broker.presence import Presence, announce
from memshare_memory.encoders.encoder import ENCODER
from memshare_memory.pool import owner as gate
from memshare_memory.pool.owner import WriteGate
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
    with gates[0].closed(), pytest.raises(TryAgain, match="is being moved to another encoder"), gates[1].closed():
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


def test_a_writer_says_what_keeps_it_waiting(
    gates: tuple[WriteGate, WriteGate], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "PATIENCE", 0.1)
    with gates[0].closed("A backup is being made"):
        with pytest.raises(TryAgain, match="A backup is being made, and nothing"), gates[1].writing():
            pytest.fail("it was closed")
        with pytest.raises(TryAgain, match=r"A backup is being made\. Wait"), gates[1].closed():
            pytest.fail("two have closed it")


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


def test_who_enters_is_told_which_encoder_is_in_use(
    gates: tuple[WriteGate, WriteGate], redis_client: redis.Redis
) -> None:
    with gates[0].writing() as encoder:
        assert encoder is None

    redis_client.set(ENCODER, "tests/words")

    with gates[0].writing() as encoder, gates[1].writing("poem") as the_same:
        assert encoder == the_same == "tests/words"


def test_one_alone_writes_to_a_pool_and_others_write_to_other_pools(
    gates: tuple[WriteGate, WriteGate], redis_client: redis.Redis
) -> None:
    inside: list[int] = []
    most: list[int] = []

    def write(number: int) -> None:
        for _ in range(10):
            with gates[number % 2].writing("poem"):
                inside.append(number)
                redis_client.ping()  # others have time to come in
                most.append(len(inside))
                inside.remove(number)

    with ThreadPoolExecutor(4) as threads, gates[0].writing("logic"), gates[0].writing():
        list(threads.map(write, range(4)))

    assert most == [1] * 40


def test_who_closes_waits_for_one_that_is_alone_in_a_pool(
    gates: tuple[WriteGate, WriteGate], redis_client: redis.Redis
) -> None:
    with gates[0].writing("poem"):
        assert redis_client.zcard(gate.WRITERS) == 1
        assert redis_client.ttl(gate.lock_key("poem")) < gate.LONGEST_WRITE, "who has a lock counts as a writer"
    assert redis_client.zcard(gate.WRITERS) == 0
    assert not redis_client.exists(gate.lock_key("poem"))


def test_a_closed_gate_gives_nobody_a_lock(
    gates: tuple[WriteGate, WriteGate], redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "PATIENCE", 0.1)
    with gates[0].closed(), pytest.raises(TryAgain, match="being moved"), gates[1].writing("poem"):
        pytest.fail("it was closed")

    assert not redis_client.exists(gate.lock_key("poem"))


def test_a_writer_that_was_killed_keeps_its_pool_no_longer_than_its_lock(
    gates: tuple[WriteGate, WriteGate], redis_client: redis.Redis
) -> None:
    redis_client.set(gate.lock_key("poem"), "killed", px=200)

    with gates[0].writing("poem"):
        assert redis_client.get(gate.lock_key("poem")) != "killed"


@pytest.mark.parametrize("is_killed", [True, False])
def test_a_worker_that_is_known_to_be_gone_keeps_its_pool_for_seconds_and_one_that_is_there_keeps_it(
    gates: tuple[WriteGate, WriteGate],
    redis_client: redis.Redis,
    monkeypatch: pytest.MonkeyPatch,
    is_killed: bool,
) -> None:
    monkeypatch.setattr(gate, "LOCK_SECONDS", 2)
    for life in ("first", "second") if is_killed else ("first",):  # started again under its name
        announce(redis_client, Presence(node="memory-7", pid=7, incarnation=life, queues=("memory",)))
    redis_client.set(gate.lock_key("poem"), "first:write")
    redis_client.zadd(gate.WRITERS, {"first:write": 1e12})

    with nullcontext() if is_killed else pytest.raises(TryAgain, match="was busy"), gates[0].writing("poem"):
        assert is_killed
        assert redis_client.zcard(gate.WRITERS) == 1


def test_a_pool_that_stays_busy_is_left_for_later(
    gates: tuple[WriteGate, WriteGate], redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "LOCK_SECONDS", 1)
    redis_client.set(gate.lock_key("poem"), "another")

    with pytest.raises(TryAgain, match="Pool 'poem' was busy for 1 s"), gates[0].writing("poem"):
        pytest.fail("another one is in it")

    assert redis_client.zcard(gate.WRITERS) == 0
    assert redis_client.get(gate.lock_key("poem")) == "another"


def test_who_was_away_for_so_long_that_another_wrote_learns_it_and_takes_nothing_from_that_one(
    gates: tuple[WriteGate, WriteGate], redis_client: redis.Redis
) -> None:
    with pytest.raises(TryAgain, match="others wrote"), gates[0].writing("poem"):
        redis_client.set(gate.lock_key("poem"), "another")

    assert redis_client.get(gate.lock_key("poem")) == "another"


def test_what_fails_inside_is_what_is_raised_and_the_pool_is_free(
    gates: tuple[WriteGate, WriteGate], redis_client: redis.Redis
) -> None:
    with pytest.raises(ZeroDivisionError), gates[0].writing("poem"):
        raise ZeroDivisionError

    assert not redis_client.exists(gate.lock_key("poem"))
    assert redis_client.zcard(gate.WRITERS) == 0
