"""Leases: one process holds a key or a folder at a time."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import redis
from redis.exceptions import LockNotOwnedError

from memshare_broker.errors import BadInput, MemshareError
from memshare_broker.leases import folder_lease, lease

KEY = "memshare:test"


def test_one_holds_a_key_at_a_time_and_it_is_free_again_afterwards(redis_client: redis.Redis) -> None:
    with lease(redis_client, KEY, 5) as first, lease(redis_client, KEY, 5) as second:
        assert first is not None
        assert second is None
        assert 0 < redis_client.pttl(KEY) <= 5_000

    assert not redis_client.exists(KEY)


def test_who_has_patience_waits_for_who_holds_it(redis_client: redis.Redis) -> None:
    inside, may_go = threading.Event(), threading.Event()

    def hold() -> None:
        with lease(redis_client, KEY, 5):
            inside.set()
            may_go.wait(10)

    with ThreadPoolExecutor(1) as threads:
        held = threads.submit(hold)
        inside.wait(10)
        threading.Timer(0.2, may_go.set).start()
        with lease(redis_client, KEY, 5, patience=10) as lock:
            assert lock is not None
        held.result(10)


def test_who_lost_it_learns_that_in_any_thread_and_takes_nothing_from_who_has_it(
    redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    with ThreadPoolExecutor(1) as threads, lease(redis_client, KEY, 5) as lock:
        assert lock is not None
        assert threads.submit(lock.reacquire).result(10)
        redis_client.set(KEY, "another's")

        with pytest.raises(LockNotOwnedError):
            threads.submit(lock.reacquire).result(10)

    assert redis_client.get(KEY) == "another's"
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_what_fails_inside_is_what_is_raised_and_the_key_is_free(redis_client: redis.Redis) -> None:
    with pytest.raises(ZeroDivisionError), lease(redis_client, KEY, 5):
        raise ZeroDivisionError

    assert not redis_client.exists(KEY)


HOLDS = """
import sys
from pathlib import Path
from memshare_broker.leases import folder_lease

with folder_lease(Path(sys.argv[1]), "lock", ""):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_folder_is_held_by_one_process_which_others_name_until_it_is_killed(tmp_path: Path) -> None:
    folder, words = tmp_path / "new", "{folder} is taken by {process}"
    command = [sys.executable, "-P", "-c", HOLDS, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"

        with pytest.raises(MemshareError) as taken, folder_lease(folder, "lock", words):
            pytest.fail("two have it")
        process.kill()

    assert str(taken.value) == f"{str(folder)!r} is taken by {process.pid}"
    with folder_lease(folder, "lock", words):
        assert (folder / "lock").read_text() == str(os.getpid())


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(BadInput, match="file"), folder_lease(tmp_path / "file", "lock", ""):
        pass
